# SPDX-License-Identifier: MIT
"""The summary of `make test` names what failed, in the words of each runner."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

path = Path(__file__).resolve().parents[2] / "tools/run_tests.py"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("run_tests", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


run_tests = load()

ctest_output = """
99% tests passed, 2 tests failed out of 443

The following tests FAILED:
\t  7 - heap_test:Slab.Fills (Failed)
\t440 - heap.behind_sanitizer (Timeout)

The following tests did not run:
\t 12 - heap.needs_root (Skipped)
Errors while running CTest
"""

pytest_output = """
ERROR    root:conftest.py:12 a line of a captured log
=========================== short test summary info ============================
FAILED tests/journeys/test_limits.py::test_disk_full[x] - assert 1 == 0
ERROR tests/journeys/test_loading.py::test_late - OSError
=================== 1 failed, 7 passed, 1 error in 0.5s ====================
"""

check_output = """ok     layers
FAILED C++ format
src/a.cpp:1:1: error: code should be clang-formatted
11 passed, 1 failed
"""


def test_failures_of_every_runner_are_named() -> None:
    assert run_tests.failures_in(ctest_output) == [
        "heap_test:Slab.Fills (Failed)",
        "heap.behind_sanitizer (Timeout)",
    ]
    assert run_tests.failures_in(pytest_output) == [
        "FAILED tests/journeys/test_limits.py::test_disk_full[x] - assert 1 == 0",
        "ERROR tests/journeys/test_loading.py::test_late - OSError",
    ]
    assert run_tests.failures_in(check_output) == ["FAILED C++ format"]


def test_results_of_every_runner_are_counted() -> None:
    assert run_tests.count_results(ctest_output) == (441, 2, 0)
    assert run_tests.count_results(pytest_output) == (7, 2, 0)
    assert run_tests.count_results(check_output) == (11, 1, 0)
