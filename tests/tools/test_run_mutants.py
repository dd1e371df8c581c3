# SPDX-License-Identifier: MIT
"""The runner of planted faults: what it refuses, and that every source comes back as it was."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

script = Path(__file__).resolve().parents[2] / "tools/run_mutants.py"
WriteTree = Callable[[dict[str, str]], Path]


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(script.parent))
    spec = importlib.util.spec_from_file_location("run_mutants", script)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "root", tmp_path)
    monkeypatch.setattr(module, "kept", tmp_path / "planted.json")
    return module


def entry(find: str = "a + b", test: str = "tests/test_sum.py::test_sum") -> str:
    return (
        f'[[fault]]\nname = "minus"\nfile = "sum.py"\nfind = "{find}"\nreplace = "a - b"\ntest = "{test}"\n'
    )


FILES = {
    "sum.py": "def add(a, b):\n    return a + b\n",
    "tests/test_sum.py": "from sum import add\ndef test_sum():\n    assert add(1, 2) == 3\n"
    "def test_weak():\n    assert add(1, 0) == 1\n",
}


def test_a_fault_that_a_test_sees_is_killed(runner: ModuleType, write_tree: WriteTree) -> None:
    root = write_tree({**FILES, "mutants/sum.toml": entry()})
    (fault,) = runner.read_faults(root / "mutants")
    assert runner.problems([fault], root) == []
    assert runner.verdict(fault) == "killed"
    assert (root / "sum.py").read_text() == FILES["sum.py"]


def test_a_fault_that_no_test_sees_survives(runner: ModuleType, write_tree: WriteTree) -> None:
    root = write_tree({**FILES, "mutants/sum.toml": entry(test="tests/test_sum.py::test_weak")})
    (fault,) = runner.read_faults(root / "mutants")
    assert runner.verdict(fault) == "SURVIVED"


def test_a_test_that_is_not_there_is_said(runner: ModuleType, write_tree: WriteTree) -> None:
    root = write_tree({**FILES, "mutants/sum.toml": entry(test="tests/test_sum.py::test_absent")})
    (fault,) = runner.read_faults(root / "mutants")
    assert "no such test" in runner.verdict(fault)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (entry(find="a * b"), "stands 0 times"),
        (entry(find="a"), "stands 3 times"),
        (entry(find="a - b"), "changes nothing"),
        (entry(test="tests/test_absent.py::test_sum"), "no test"),
        (entry() + entry(), "stands twice"),
    ],
)
def test_what_cannot_be_planted_is_refused(
    runner: ModuleType, write_tree: WriteTree, text: str, said: str
) -> None:
    root = write_tree({**FILES, "mutants/sum.toml": text})
    found = runner.problems(runner.read_faults(root / "mutants"), root)
    assert any(said in line for line in found), found


def test_a_list_that_grows_too_long_is_refused(
    runner: ModuleType, write_tree: WriteTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_tree({**FILES, "mutants/sum.toml": entry() + entry().replace("minus", "less")})
    faults = runner.read_faults(root / "mutants")
    assert runner.problems(faults, root) == []
    monkeypatch.setattr(runner, "MOST_KEPT", 1)
    assert any("2 faults are kept by hand; at most 1" in line for line in runner.problems(faults, root))


def test_a_killed_run_is_put_right_by_the_next(runner: ModuleType, write_tree: WriteTree) -> None:
    root = write_tree({**FILES, "mutants/sum.toml": entry()})
    (fault,) = runner.read_faults(root / "mutants")
    planted = runner.planted(fault)
    planted.__enter__()  # and never left, as after SIGKILL
    assert "a - b" in (root / "sum.py").read_text()
    runner.restore()
    assert (root / "sum.py").read_text() == FILES["sum.py"]
    assert not (root / "planted.json").exists()
