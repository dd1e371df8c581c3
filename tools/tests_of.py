# SPDX-License-Identifier: MIT
"""Which tests see a change of a file: those of its folder first, then those of the folders that use it.

Of C++ by the layer table of ARCHITECTURE.md, and by the dependency files of the last build where there are
any: they say which test programs read a header. Of Python by what the tests import, and the layer table.
"""

import re
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from check_layers import read_table

# Journeys that run what has few units, or none, the most telling first.
JOURNEYS = {
    "record": [
        "entry_points",
        "journey",
        "stacks",
        "loading",
        "own_names",
        "processes",
        "annotations",
        "probes",
    ],
    "session": ["journey", "processes", "started_processes"],
    "platform": ["journey", "count"],
    "unwind": ["stacks", "witness", "journey"],
    "count": ["count", "count_traps", "count_trees", "counted_processes"],
    "counters": ["count", "heap_counters"],
    "attach": ["record_process", "attach", "attached_programs", "attachable", "attach_refusals"],
    "collect": [
        "journey",
        "processes",
        "started_processes",
        "limits",
        "ways_to_end",
        "residency",
        "slow_calls",
    ],
    "symbolize": ["stacks", "journey"],
    "heap": ["heap_settings", "heap_counters", "elevated"],
    "replay": ["replay", "changed_replay", "replay_endings"],
    "python/replay": ["replay", "changed_replay"],
    "python/compare": ["compare"],
    "python/gate": ["gate"],
    "python/serve": ["serve"],
    "python/live": ["count", "sampled_count", "counted_processes"],
    "python/lint": ["lint"],
    "python/cli": ["refusals", "outputs", "journey"],
}
# Tests of a folder that stand in another.
ELSEWHERE = {"parts": ["parts"], "heap": ["heap", "heap_programs"], "session": ["record", "collect"]}


@dataclass(frozen=True)
class Tests:
    """targets: what is built for them; where: a folder of C++ tests, or Python files."""

    targets: tuple[str, ...]
    folder: str = ""
    files: tuple[str, ...] = ()


def folder_of(file: str) -> str:
    """`heap` of src/heap/base/lock.hpp, `python/gate` of python/heapwright/gate/show.py."""
    parts = Path(file).parts
    if parts[0] == "include":
        return "parts"
    if parts[0] == "python":
        return f"python/{parts[2] if len(parts) > 3 else Path(file).stem}"
    return parts[1]


@lru_cache
def users(root: Path, folder: str) -> tuple[str, ...]:
    """The folders whose row of the layer table names it, or a header of it."""
    rows = read_table((root / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    is_python = folder.startswith("python/")
    name = folder.removeprefix("python/")
    found = []
    for row, allowed in rows.items():
        used = {word.partition("/")[0] for word in allowed}
        top = row if row.startswith("python/") else row.partition("/")[0]
        if name in used and row.startswith("python/") == is_python and top != folder and top not in found:
            found.append(top)
    return tuple(found)


def units_of(root: Path, folder: str) -> list[Tests]:
    """The C++ tests of one folder of src/."""
    folders = [
        name for name in ELSEWHERE.get(folder, [folder]) if (root / f"tests/{name}/CMakeLists.txt").is_file()
    ]
    return [Tests((f"tests/{name}/all",), name) for name in folders]


def python_tests(root: Path, file: str) -> list[str]:
    """Python tests of a module: of its folder, or those that import it; those that are called as it first."""
    folder = folder_of(file).removeprefix("python/")
    own = sorted((root / "tests/python" / folder).glob("test_*.py"))
    module = file.removeprefix("python/").removesuffix(".py").replace("/", ".")
    others = sorted((root / "tests/python").glob("test_*.py"))
    texts = {path: path.read_text(encoding="utf-8") for path in others}
    importing = [path for path in others if re.search(rf"heapwright\.{folder}\b", texts[path])]
    chosen = [*own, *importing] if own else [*importing, *(p for p in others if p not in importing)]
    package, _, stem = module.rpartition(".")

    def is_far(path: Path) -> tuple[bool, bool]:
        names_it = rf"\b{re.escape(module)}\b|\b{re.escape(package)} import .*\b{re.escape(stem)}\b"
        return stem not in path.stem, re.search(names_it, path.read_text(encoding="utf-8")) is None

    return [path.relative_to(root).as_posix() for path in sorted(chosen, key=is_far)]


def journeys_of(root: Path, folder: str) -> list[str]:
    names = [f"tests/journeys/test_{name}.py" for name in JOURNEYS.get(folder, [])]
    return [name for name in names if (root / name).is_file()]


def tests_of(root: Path, file: str) -> list[Tests]:
    """What may see a fault in the file, the nearest first."""
    folder = folder_of(file)
    if file.endswith(".py"):
        found = [Tests((), files=tuple(python_tests(root, file)))]
        for user in users(root, folder):
            own = sorted((root / "tests/python" / user.removeprefix("python/")).glob("test_*.py"))
            found.append(Tests((), files=tuple(path.relative_to(root).as_posix() for path in own)))
    else:
        found = units_of(root, folder)
        for user in users(root, folder):
            found += units_of(root, user)
    journeys = journeys_of(root, folder)
    found.append(Tests(("run_by_python",), files=tuple(journeys)))
    nearest = [tests for tests in found if tests.folder or tests.files]
    return list(dict.fromkeys(nearest))


def reading(build: Path, files: set[str]) -> set[str]:
    """The objects whose dependency files name one of these, by paths; empty without a build."""
    line = ["ninja", "-C", str(build), "-t", "deps"]
    listed = subprocess.run(line, capture_output=True, text=True, check=False).stdout
    found: set[str] = set()
    for block in listed.split("\n\n"):
        first, *read = block.strip().splitlines() or [""]
        if any(name.strip() in files for name in read):
            found.add(first.partition(":")[0])
    return found
