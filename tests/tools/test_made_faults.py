# SPDX-License-Identifier: MIT
"""Made faults: which are drawn from small sources, which tests are taken for them, and what counts as killed."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

tools = Path(__file__).resolve().parents[2] / "tools"
WriteTree = Callable[[dict[str, str]], Path]

PYTHON = """def least(values, floor=3):
    total = 0
    for value in values:
        if value < floor and not value == 7:
            total += value
    return max(total, floor)
"""
CPP = """#include <atomic>
int most(int a, int b) { return a < b ? b : a; }
struct Lane { std::atomic<int> head{0}; int dropped = 5; bool is_new = true; };
int reset(Lane& lane, int by) {
  lane.dropped = 0;
  lane.head.store(by + 1, std::memory_order_release);
  return most(by, lane.dropped);
}
"""
TABLE = (
    "```layers\nbase:\nheap/pages: base\norder: base heap/pages\npython/gate: model\npython/cli: gate\n```\n"
)


def load(monkeypatch: pytest.MonkeyPatch, name: str) -> ModuleType:
    monkeypatch.syspath_prepend(str(tools))
    sys.modules.pop(name, None)
    return __import__(name)


def git(root: Path, *words: str) -> None:
    own = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *own, *words], cwd=root, check=True, capture_output=True)


@pytest.fixture
def tree(write_tree: WriteTree) -> Path:
    root = write_tree(
        {
            "python/heapwright/gate/least.py": PYTHON,
            "src/order/lane.cpp": CPP,
            "ARCHITECTURE.md": TABLE,
            "tests/python/gate/test_least.py": "def test_it() -> None:\n    assert True\n",
        }
    )
    file = f"{root}/src/order/lane.cpp"
    command = f"g++ -std=c++20 -O1 -o lane.o -c {file}"
    listed = [{"directory": str(root / "build/release"), "command": command, "file": file}]
    (root / "build/release").mkdir(parents=True)
    (root / "build/release/compile_commands.json").write_text(json.dumps(listed))
    (root / ".gitignore").write_text("build\n")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "one")
    return root


def changes(monkeypatch: pytest.MonkeyPatch, root: Path, name: str) -> set[tuple[str, str, str]]:
    text = (root / name).read_bytes()
    found = load(monkeypatch, "made_faults").changes_in(root, name)
    return {(each.kind, text[each.begin : each.end].decode(), each.replace) for each in found}


def test_faults_of_python(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert changes(monkeypatch, tree, "python/heapwright/gate/least.py") == {
        ("bound", "3", "4"),
        ("bound", "0", "1"),
        ("bound", "7", "8"),
        ("operator", "<", "<="),
        ("operator", "and", "or"),
        ("operator", "==", "!="),
        ("condition", "not ", ""),
        ("condition", "value < floor and not value == 7", "(not (value < floor and not value == 7))"),
        ("lost statement", "total += value", "pass"),
        ("argument", "total, floor", "floor, total"),
    }


def test_faults_of_cpp(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("clang.cindex")
    found = changes(monkeypatch, tree, "src/order/lane.cpp")
    assert {
        ("operator", "<", "<="),
        ("bound", "5", "6"),
        ("condition", "true", "false"),
        ("lost statement", "lane.dropped = 0", ""),
        ("memory order", "std::memory_order_release", "std::memory_order_relaxed"),
        ("operator", "+", "-"),
        ("argument", "by, lane.dropped", "lane.dropped, by"),
    } <= found
    assert len(found) < 20


def test_a_seed_repeats_its_faults(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = load(monkeypatch, "made_faults").draw
    first = list(draw(tree, 5, 3, only=r"\.py$"))
    assert len(first) == 5
    assert list(draw(tree, 5, 3, only=r"\.py$")) == first
    assert list(draw(tree, 5, 4, only=r"\.py$")) != first


def test_on_changed_lines_alone(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "python/heapwright/gate/least.py").write_text(PYTHON.replace("total = 0", "total = 5"))
    found = list(load(monkeypatch, "made_faults").draw(tree, 9, 1, base="HEAD"))
    assert [(each.line, each.replace) for each in found] == [(2, "6")]


def test_the_nearest_tests_come_first(monkeypatch: pytest.MonkeyPatch, write_tree: WriteTree) -> None:
    root = write_tree(
        {
            "ARCHITECTURE.md": TABLE,
            "tests/order/CMakeLists.txt": "",
            "tests/base/CMakeLists.txt": "",
            "tests/heap/CMakeLists.txt": "",
            "tests/python/gate/test_other.py": "",
            "tests/python/gate/test_least.py": "",
            "tests/python/test_all.py": "from heapwright.gate import least\n",
            "tests/python/test_none.py": "from heapwright.model import trace\n",
            "tests/journeys/test_gate.py": "",
        }
    )
    tests_of = load(monkeypatch, "tests_of")
    assert [tests.folder for tests in tests_of.tests_of(root, "src/base/crc.hpp")] == [
        "base",
        "heap",
        "order",
    ]
    near, journeys = tests_of.tests_of(root, "python/heapwright/gate/least.py")
    assert near.files == (
        "tests/python/gate/test_least.py",
        "tests/python/test_all.py",
        "tests/python/gate/test_other.py",
    )
    assert journeys.files == ("tests/journeys/test_gate.py",) and journeys.targets == ("run_by_python",)


@pytest.fixture
def runner(tree: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    for name in ("run_mutants", "made_faults", "tests_of"):
        load(monkeypatch, name)
    module = load(monkeypatch, "run_made_faults")
    monkeypatch.setattr(module, "root", tree)
    monkeypatch.setattr(sys.modules["run_mutants"], "root", tree)
    monkeypatch.setattr(sys.modules["run_mutants"], "kept", tree / "build/planted.json")
    monkeypatch.setattr(sys.modules["run_tests"], "root", tree)
    return module


SEEING = """
import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "python/heapwright/gate"))
from least import least
def test_it(): assert least([1, 2, 9]) == 3
"""


def the_fault(runner: ModuleType, root: Path, replace: str) -> object:
    name = "python/heapwright/gate/least.py"
    return next(each for each in sys.modules["made_faults"].changes_in(root, name) if each.replace == replace)


def test_what_a_test_sees_is_killed_and_the_source_is_as_before(runner: ModuleType, tree: Path) -> None:
    (tree / "tests/python/gate/test_least.py").write_text(SEEING)
    found = runner.verdict(the_fault(runner, tree, "or"), 1)
    assert found.killed_by == "tests/python/gate/test_least.py::test_it"
    assert (tree / "python/heapwright/gate/least.py").read_text() == PYTHON
    assert runner.verdict(the_fault(runner, tree, "8"), 1).killed_by == ""


def test_a_test_that_fails_in_any_case_kills_nothing(runner: ModuleType, tree: Path) -> None:
    (tree / "tests/python/gate/test_least.py").write_text("def test_it(): assert False\n")
    assert runner.verdict(the_fault(runner, tree, "or"), 1).killed_by == ""


def test_what_compiles_to_the_same_is_no_fault(runner: ModuleType, tree: Path) -> None:
    pytest.importorskip("clang.cindex")
    places = sys.modules["made_faults"].changes_in(tree, "src/order/lane.cpp")
    by = {(each.kind, each.replace): runner.is_a_fault(each) for each in places}
    assert not by[("operator", "<=")]  # the larger of two that are equal is either
    assert by[("bound", "1")] or by[("operator", "-")]


def test_the_share_has_the_interval_of_its_sample(runner: ModuleType, tree: Path) -> None:
    low, high = runner.interval(17, 20)  # Wilson's of a table: 64.0 to 94.8 %
    assert (round(low, 3), round(high, 3)) == (0.640, 0.948)
    change = the_fault(runner, tree, "or")
    found = [runner.Verdict(change, "and", "a test", 1.0), runner.Verdict(change, "and", "", 1.0)]
    said = runner.summary(found, 5, 60)
    assert "1 of 2 made faults killed, 50 %" in said and "seed 5" in said
    assert "survived: python/heapwright/gate/least.py:4: operator: and -> or" in said
