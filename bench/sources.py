# SPDX-License-Identifier: MIT
"""Which sources a results file measured, and whether they changed since.

A results file keeps, under "sources", the revision and a hash of the text of
each folder or file that its figures depend on, C++ without its comments; of a Python module also of
those that it imports. Rendering compares the hashes
with what is there now, so a document says of itself whether its figures are
those of the sources beside it. No version control is needed to compare.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

project = Path(__file__).resolve().parents[1]
raw = project / "build/results"  # what measuring writes; bench/pack.py makes bench/results/ of it
package = "python/heapwright"
sys.path.append(str(project / "tools"))
import check_imports  # noqa: E402

# By what is measured; folders count with all they hold, modules of the package with all they import.
heap = ("src/heap", "src/counters", "src/platform", "src/base")
measured = {
    "recorder": (
        "src/record",
        "src/unwind",
        "src/session",
        "src/collect",
        "src/trace",
        "src/platform",
        "src/base",
    ),
    "trace_columns": ("src/trace", "src/record", "src/collect", "bench/analyze"),
    "analysis": ("src/order", "src/analyze", "src/symbolize", "src/trace", "src/base", "src/python_module"),
    "heap": (*heap, "src/lab", "bench/heap/loads.py", "bench/heap/pairs.cpp"),
    "heap_programs": (*heap, "bench/heap/real_programs.py", "bench/python_load.py"),
    "heap_servers": (
        *heap,
        "bench/heap/real_servers.py",
        "bench/heap/threaded_servers.py",
        "bench/fastcgi.py",
        "bench/servers.py",
    ),
    "lab": (*heap, "src/lab", "include/heapwright"),
    "parts": ("include/heapwright", "bench/parts"),
    "held": (
        "src/record",
        "src/session",
        "src/collect",
        "src/trace",
        "src/tracee",
        "src/graph",
        "src/analyze/held.cpp",
        "bench/held",
    ),
    "replay": ("src/replay", "src/figures", "python/heapwright/replay", "bench/replay"),
    "cause": (
        "bench/cause",
        "src/record",
        "src/collect",
        "src/order",
        "src/analyze",
        "python/heapwright/explain/cause.py",
    ),
    "slow": (
        "bench/cause",
        "src/record",
        "src/collect",
        "src/order",
        "src/analyze",
        "src/replay",
        "python/heapwright/explain/slow_calls.py",
        "tests/programs/slow_calls.cpp",
    ),
    "scans": ("bench/scans", "src/collect", "src/record", "src/platform"),
    "same_end": (*heap, "src/record", "src/unwind", "src/collect", "bench/cause/same_end.py"),
    "judged": (
        "python/heapwright/cli/judge.py",
        "python/heapwright/replay/quick.py",
        "python/heapwright/explain/cause.py",
        "python/heapwright/explain/advice/answer.py",
        "bench/judged/measure.py",
    ),
    "loads": ("python/heapwright/explain", "bench/judged/loads.py"),
    "advice": (
        "src/order",
        "src/analyze",
        "python/heapwright/explain/advice",
        "python/heapwright/explain/advice/answer.py",
        "tests/programs/advice",
        "include/heapwright",
    ),
    "page": ("bench/page", "python/heapwright/page", "src/analyze", "src/order"),
    "first": ("python/heapwright/explain", "bench/first"),
    "apply": ("src/apply", "src/unwind", "bench/apply"),
    "tried": ("src/apply", "python/heapwright/trial", "bench/tried"),
    "count": ("src/count", "src/counters", "src/record", "bench/count/pairs.cpp"),
    "times": (
        "src/count",
        "src/counters",
        "python/heapwright/live/figures.py",
        "tests/programs/timed_calls.cpp",
    ),
    "fleet": ("bench/fleet", "python/heapwright/fleet", "python/heapwright/cli/fleet.py"),
    "killed": ("src/attach", "tests/programs/steady_server.cpp"),
    "attach": ("src/attach", "src/counters", "bench/attach/pairs.cpp", "tests/programs/steady_server.cpp"),
    "record_process": (
        "src/attach",
        "src/unwind",
        "src/record/ring.hpp",
        "src/collect",
        "bench/attach/pairs.cpp",
    ),
    "agents": ("bench/agents", "python/heapwright/explain"),
    "lint": ("bench/lint", "python/heapwright/lint"),
    "growth": (
        "bench/growth",
        "python/heapwright/explain/growth_kinds.py",
        "python/heapwright/explain/trend.py",
    ),
}
suffixes = {".cpp", ".hpp", ".h", ".S", ".py", ".js", ".css", ".html"}
LITERAL = rb'"(?:\\.|[^"\\\n])*"' + rb"|'(?:\\.[^'\n]*|[^'\\\n])'"
COMMENT_OR_SPACE = re.compile(rb"(" + LITERAL + rb")|//[^\n]*|/\*.*?\*/|\s+", re.DOTALL)
scripts = {"measure.py", "render.py"}  # what they change shows in the figures' form only
declared = "figures.py"  # in bench/: as these
shown_by = (f"{package}/report", f"{package}/terminal")  # as these do


def names_of(kind: str) -> list[str]:
    """What is measured, and the modules that its modules import: other packages as a whole."""
    names = measured[kind]
    modules = [name for name in names if name.startswith(package) and name.endswith(".py")]
    own = tuple(name.split("/")[2] for name in modules)
    imported = {
        name if name.split("/")[2] in own else "/".join(name.split("/")[:3])
        for name in (_imported(modules) if modules else ())
    }
    folders = tuple(f"{name}/" for name in names)
    further = sorted(name for name in imported - {*names, *shown_by} if not name.startswith(folders))
    return [name for name in names if not name.startswith(folders)] + further


def _imported(modules: Iterable[str]) -> set[str]:
    """The files of what these files import, and of what that imports."""
    above = project / Path(package).parent
    files = {
        check_imports.module_name(path, above): path.relative_to(project).as_posix()
        for path in (project / package).rglob("*.py")
    }
    edges = check_imports.read(project / package)
    found: set[str] = set()
    waiting = [name for name, file in files.items() if file in set(modules)]
    while waiting:
        new = edges.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return {files[name] for name in found if name in files}


def code_of(file: Path) -> bytes:
    """A file's text; of C++ the code alone, whose comments and line breaks change no figure."""
    text = file.read_bytes()
    if file.suffix not in {".cpp", ".hpp", ".h"}:
        return text
    return COMMENT_OR_SPACE.sub(lambda found: found[1] or b"", text)


def raw_results() -> Path:
    """Where measuring puts its results; made here where it is missing."""
    raw.mkdir(parents=True, exist_ok=True)
    return raw


def is_of_the_form(file: Path) -> bool:
    """Whether it only measures again, or shows what was measured."""
    return file.name in scripts or (file.name == declared and file.parent.parent.name == "bench")


def hash_of(path: Path) -> str:
    """Of the names and texts of the sources in a folder, or of one file's text."""
    files = sorted(file for file in path.rglob("*") if file.suffix in suffixes and not is_of_the_form(file))
    whole = hashlib.sha256()
    for file in files if path.is_dir() else [path]:
        whole.update(file.relative_to(path).as_posix().encode() + b"\0")
        whole.update(hashlib.sha256(code_of(file)).digest())
    return whole.hexdigest()[:16]


def revision() -> str:
    """Of the sources, with a + when some are not committed; empty outside of a repository."""
    asked = subprocess.run(
        ["git", "describe", "--always", "--dirty=+", "--exclude=*"],
        cwd=project, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return asked.stdout.strip()


def stamp(kind: str) -> dict[str, Any]:
    """What a results file keeps under "sources"."""
    return {"revision": revision(), "hashes": {name: hash_of(project / name) for name in names_of(kind)}}


def changed(sources: Mapping[str, Any], root: Path = project) -> list[str]:
    """The stamped folders and files whose text is another one now."""
    hashes: Mapping[str, str] = sources["hashes"]
    return [name for name, was in hashes.items() if not (root / name).exists() or hash_of(root / name) != was]


def said(documents: Iterable[Mapping[str, Any]], root: Path = project) -> str:
    """One sentence for a document made from these results."""
    stamps = [document.get("sources") for document in documents]
    known = [found for found in stamps if found]
    if len(known) < len(stamps):
        older = "Some of these figures were" if known else "These figures were"
        return (
            f"{older} measured before results kept their sources' hashes: sources changed since: not known."
        )
    revisions = " and ".join(dict.fromkeys(found["revision"] or "unknown" for found in known))
    names = list(dict.fromkeys(name for found in known for name in changed(found, root)))
    return f"Measured at revision {revisions}; sources changed since: {', '.join(names) or 'no'}."
