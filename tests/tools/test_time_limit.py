# SPDX-License-Identifier: MIT
"""A journey that hangs fails by its name, and those after it run."""

import subprocess
import sys
from pathlib import Path

project = Path(__file__).resolve().parents[2]

CONFTEST = f"""
import sys
sys.path.insert(0, {str(project / "tests/journeys")!r})
import time_limit
time_limit.LIMIT_S, time_limit.AGAIN_S = 1, 1
from time_limit import pytest_runtest_protocol
"""
TESTS = """
import subprocess
def test_hangs():
    with subprocess.Popen(["sleep", "100"]) as one:
        one.wait()
def test_goes_on(): pass
"""


def test_a_test_that_hangs_is_named_and_the_next_one_runs(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_a.py").write_text(TESTS)
    line = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rf", "."]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert "FAILED test_a.py::test_hangs - TimeoutError: test_a.py::test_hangs took" in done.stdout
    assert "1 failed, 1 passed" in done.stdout
