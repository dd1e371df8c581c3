# SPDX-License-Identifier: MIT
"""The summary of `make test` names what failed, in the words of each runner."""

import importlib.util
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

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


def test_pytest_is_asked_to_name_what_failed(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_a.py").write_text("def test_it():\n    assert 1 == 2\n")
    [command] = run_tests.pytest_stage("any", ["tests/test_a.py"], 60).commands
    status, output = run_tests.run_command(command, 60, tmp_path)
    assert status == 1
    assert run_tests.failures_in(output) == ["FAILED tests/test_a.py::test_it - assert 1 == 2"]


@pytest.mark.parametrize(
    ("second", "failing", "is_steady_alone"),
    [("True", 1, True), ("False", 1, False), ("True", 3, True), ("True", 4, False)],
)
def test_few_failures_run_once_more_and_are_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], second: str, failing: int, is_steady_alone: bool
) -> None:
    """The first run of each fails; the second does as it is told."""
    (tmp_path / "tests").mkdir()
    mark = f"pathlib.Path({str(tmp_path)!r}) / str(number)"
    (tmp_path / "tests/test_a.py").write_text(
        f"""
import pathlib, pytest
def test_good(): pass
@pytest.mark.parametrize("number", range({failing}))
def test_it(number):
    has_run = ({mark}).exists()
    ({mark}).touch()
    assert has_run and {second}
"""
    )
    stage = run_tests.pytest_stage("journeys", ["tests/test_a.py"], 60, workers=2)
    outcome = run_tests.run_stage(stage, tmp_path)
    run_tests.print_summary({"journeys": outcome})
    summary = capfd.readouterr().out.split("== summary")[1]
    if is_steady_alone:
        assert (outcome.passed, outcome.failed, outcome.failures) == (failing + 1, 0, [])
        assert len(outcome.unsteady) == failing
        assert "journeys: unsteady, passed when run alone: tests/test_a.py::test_it[0] - assert" in summary
    else:
        assert (outcome.passed, outcome.failed, outcome.unsteady) == (1, failing, [])
        assert "unsteady" not in summary and "journeys: FAILED tests/test_a.py::test_it[0]" in summary


def test_reasons_of_skipped_units_are_named() -> None:
    log = """434/757 Testing: parts_test:Arena.Counts
[ RUN      ] Arena.Counts
/p/arena_test.cpp:220: Skipped
red zones

[  SKIPPED ] Arena.Counts (0 ms)
435/757 Testing: Damage.UnknownChunkKindIsSkipped
"""
    assert run_tests.skip_reasons(log) == ["/p/arena_test.cpp:220: red zones"]


def test_a_command_out_of_time_ends_with_all_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "late"
    script = f"echo started; (sleep 3; touch {mark}) & sleep 60"
    status, output = run_tests.run_command(["sh", "-c", script], limit_s=1)
    assert status == 124
    assert output.startswith("started\n") and "out of time after 1 s" in output
    time.sleep(2.5)
    assert not mark.exists()


def test_an_interrupted_run_ends_what_it_started_and_sums_up(tmp_path: Path) -> None:
    mark = tmp_path / "late"
    code = f"""
import sys; sys.path.insert(0, {str(path.parent)!r})
import run_tests
first = run_tests.Stage("build", [["echo", "1 passed"]], 10)
second = run_tests.Stage("second", [["sh", "-c", "echo started; (sleep 3; touch {mark}) & sleep 60"]], 100)
third = run_tests.Stage("third", [["true"]], 10, ahead=[["sh", "-c", "sleep 1; touch {mark}"]])
run_tests.stages = lambda jobs, is_whole: [first, second, third]
sys.argv = ["run_tests.py"]
sys.exit(run_tests.main())
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        while running.stdout.readline() != "started\n":
            pass
        running.send_signal(signal.SIGTERM)
        rest = running.stdout.read()
    assert running.returncode == 130
    assert "build" in rest and "1 passed, 0 failed, 0 skipped" in rest
    time.sleep(3)
    assert not mark.exists()


def test_results_of_every_runner_are_counted() -> None:
    assert run_tests.count_results(ctest_output) == (441, 2, 0)
    assert run_tests.count_results(pytest_output) == (7, 2, 0)
    assert run_tests.count_results(check_output) == (11, 1, 0)


def test_a_name_that_is_no_folder_means_the_files_that_begin_so() -> None:
    assert run_tests.stage_of("python/explain", 1).commands[-1][-2:] == [
        "tests/python/test_explain.py",
        "tests/python/test_explain_document.py",
    ]
    assert run_tests.stage_of("python/test_explain.py", 1).commands[-1][-1] == "tests/python/test_explain.py"
    with pytest.raises(SystemExit):
        run_tests.stage_of("python/no_such", 1)


def test_what_is_done_ahead_ends_before_its_stage(tmp_path: Path) -> None:
    """It runs beside the stages between, and no longer: the stage does it again, or what is left."""
    beats = tmp_path / "beats"
    beat = ["sh", "-c", f"while :; do echo . >>{beats}; sleep 0.1; done"]
    wait = ["sh", "-c", f"until [ -s {beats} ]; do sleep 0.1; done; echo 1 passed"]
    counted = ["sh", "-c", f"a=$(wc -l <{beats}); sleep 1; [ $a = $(wc -l <{beats}) ] && echo 1 passed"]
    outcomes: dict[str, object] = {}
    stages = [
        run_tests.Stage("build", [["make", "--no-print-directory", "--version"]], 10),
        run_tests.Stage("between", [wait], 60),
        run_tests.Stage("late", [counted], 60, ahead=[["true"], beat]),
    ]
    run_tests.run_stages(stages, outcomes)
    assert [outcomes[name].failures for name in ("build", "between", "late")] == [[], [], []]


def test_no_test_of_the_day_in_a_file_is_no_failure() -> None:
    none = run_tests.Stage("none", [["sh", "-c", "echo '2 deselected in 0.1s'; exit 5"]], 9)
    no_file = run_tests.Stage("no file", [["sh", "-c", "echo 'no tests ran in 0.1s'; exit 5"]], 9)
    assert run_tests.run_stage(none).failed == 0
    assert run_tests.run_stage(no_file).failed == 1


def test_quick_units_come_first_and_once() -> None:
    first, _, units, *_ = run_tests.stages(2)
    assert first.commands[-1][-2:] == ["-L", "first"] and units.commands[-1][-2:] == ["-LE", "first"]


def test_only_the_whole_tests_run_what_is_full() -> None:
    def words(is_whole: bool) -> list[str]:
        return [word for stage in run_tests.stages(2, is_whole) for line in stage.commands for word in line]

    assert "first|full" not in words(True) and "not full" not in words(True)
    daily = words(False)
    assert "first|full" in daily and daily.count("not full") == 3
    assert "tsan" in words(True) and "tsan" not in daily
