# SPDX-License-Identifier: MIT
"""`make run` builds and installs what records and explains, and no more."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

project = Path(__file__).resolve().parents[2]


def configure(folder: Path) -> None:
    """A build of the core there, as `make run` has it."""
    options = ["-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DHEAPWRIGHT_CORE=ON", "-DHEAPWRIGHT_TESTS=OFF"]
    line = ["cmake", "-S", project, "-B", folder, "-G", "Ninja", *options]
    subprocess.run(line, check=True, capture_output=True)


def test_the_core_is_what_records_and_explains(tmp_path: Path) -> None:
    configure(tmp_path)
    every = ["ninja", "-C", tmp_path, "-n", "all"]
    steps = subprocess.run(every, check=True, capture_output=True, text=True).stdout
    made = set(re.findall(r"(?:executable|module|shared \w+|static library) (\S+)", steps))
    assert {Path(name).name for name in made if name.startswith(("bin/", "lib/"))} == {
        "heapwright-collect",
        "libheapwright-record.so",
    }
    assert not [name for name in made if re.search(r"src/(heap|lab|replay|attach|count)/", name)]
    levels: dict[str, set[str]] = {}
    for one in json.loads((tmp_path / "compile_commands.json").read_text()):
        [folder] = re.findall(r"(\w+[-_]\w+)\.dir/", one["command"])[:1]
        levels.setdefault(folder, set()).add(re.findall(r" (-O\d)", one["command"])[-1])
    assert levels["heapwright-record"] == {"-O2"}, "what runs inside of a user's program"
    assert all(levels[f"heapwright_{folder}"] == {"-O1"} for folder in ("analyze", "collect", "symbolize"))


@pytest.mark.full
def test_files_that_the_core_compiles_together_repeat_no_name(tmp_path: Path) -> None:
    """Its units are larger than those of other builds: only a first build would meet that."""
    configure(tmp_path)
    units = [
        one["command"].split()
        for one in json.loads((tmp_path / "compile_commands.json").read_text())
        if "/Unity/" in one["file"]
    ]
    assert len(units) >= 5
    for command in units:
        compiler = [word for word in command if word != "-c"]
        said = subprocess.run([*compiler, "-fsyntax-only"], cwd=tmp_path, capture_output=True, text=True)
        assert said.returncode == 0, said.stderr[:2000]


def test_the_first_run_installs_no_extras(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "CMakeLists.txt", "src", "include", "cmake", "tools"):
        (tmp_path / name).symlink_to(project / name)
    make = shutil.which("make")
    assert make
    commands = subprocess.run(
        [make, "-n", "run"], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout
    assert "HEAPWRIGHT_CORE=ON -e ." in commands
    assert ".[all" not in commands
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv/installed").touch()  # what was built for all stays
    again = subprocess.run(
        [make, "-n", "run"], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout
    assert "HEAPWRIGHT_CORE=ON" not in again
