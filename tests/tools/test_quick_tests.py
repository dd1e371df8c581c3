# SPDX-License-Identifier: MIT
"""`make quick` finds the tests that see a change, and ends in time."""

import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import quick_tests
from run_tests import Stage


def folders_and_files(file: str) -> list[str]:
    return [name for tests in quick_tests.seeing(file) for name in (tests.folder, *tests.files) if name]


def test_the_nearest_tests_come_first() -> None:
    nearest, *others = folders_and_files("src/trace/reader.cpp")
    assert nearest == "trace" and {"order", "analyze", "collect"} <= set(others)
    assert folders_and_files("python/heapwright/explain/leaks.py")[0].startswith("tests/python/")
    assert folders_and_files("tests/heap/slab_test.cpp") == ["heap"]
    assert "tests/journeys/test_readme.py" in folders_and_files("README.md")
    assert "tests/tools/test_setup.py" in folders_and_files("tools/setup.sh")
    # Of a program: the journeys that run it.
    assert "tests/journeys/test_growing_pool.py" in folders_and_files("tests/programs/growing_pool.cpp")


def test_each_test_runs_once_and_none_of_the_full_ones() -> None:
    chosen = quick_tests.stages(["src/trace/reader.cpp", "src/trace/writer.cpp", "README.md"])
    names = [stage.name for stage in chosen]
    assert names[0] == "checks" and len(names) == len(set(names))
    runners = [stage.commands[-1] for stage in chosen[1:]]
    assert all("full" in line or "not full" in line for line in runners)


def test_it_ends_in_time_and_names_what_is_left() -> None:
    begin = time.monotonic()
    chosen = [
        Stage("quick", [["echo", "1 passed"]], 9),
        Stage("slow", [["sleep", "60"]], 9),
        Stage("late", [["true"]], 9),
    ]
    outcomes, left_out = quick_tests.run(chosen, 3)
    assert time.monotonic() - begin < 30
    assert list(outcomes) == ["quick"] and left_out == ["slow", "late"]


def test_changes_are_those_since_the_base(tmp_path: Path) -> None:
    """On main itself and without changes: those of the last commit."""
    line = "git init -q -b main . && git config user.email a@b && git config user.name a"
    commits = "for n in 1 2; do echo $n >f$n && git add . && git commit -q -m $n; done"
    subprocess.run(["bash", "-c", f"{line} && {commits}"], cwd=tmp_path, check=True)
    before, quick_tests.root = quick_tests.root, tmp_path
    try:
        assert quick_tests.changed_files(quick_tests.base_of("main")) == ["f2"]
        (tmp_path / "f3").touch()
        assert quick_tests.changed_files(quick_tests.base_of("main")) == ["f3"]
    finally:
        quick_tests.root = before
