# SPDX-License-Identifier: MIT
"""clang-tidy's checks about allocations, with a fixed configuration."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from heapwright.lint.checks.kinds import NO_RESERVE, SHARED_FROM_NEW, STOCK
from heapwright.lint.compile import Unit
from heapwright.lint.finding import Finding, Remedy
from heapwright.lint.sources import Sources

MISSING = "clang-tidy is not installed, so its checks were not run: pip install 'heapwright[lint]'"
_BY_NAME = {kind.name: kind for kind in STOCK}
# If our check reports the same lines, it is reported once.
_SAME = {
    "modernize-make-shared": SHARED_FROM_NEW,
    "performance-inefficient-vector-operation": NO_RESERVE,
}
_FINDING = re.compile(
    r"(?P<file>/.+?):(?P<line>\d+):(?P<column>\d+): (?:warning|error): (?P<text>.*) \[(?P<names>[\w.,-]+)\]"
)


class Ran(NamedTuple):
    """problems: one line for each unit that it could not read."""

    findings: list[Finding]
    problems: list[str]


def program() -> str:
    """The clang-tidy next to this Python, otherwise from $PATH; "" = none."""
    beside = str(Path(sys.executable).parent)
    return shutil.which("clang-tidy", path=f"{beside}{os.pathsep}{os.environ.get('PATH', os.defpath)}") or ""


def run(
    command: str,
    units: Sequence[Unit],
    sources: Sources,
    roots: Sequence[str],
    jobs: int,
    progress: Callable[[str, int, int], object],
) -> Ran:
    """Runs it on these units; findings in files under the roots, each place once."""
    found: dict[Finding, None] = {}
    problems = []
    with ThreadPoolExecutor(max(1, jobs)) as pool:
        for number, (unit, done) in enumerate(
            zip(units, pool.map(lambda unit: _asked(command, unit, sources), units), strict=True), 1
        ):
            progress("clang-tidy", number, len(units))
            found.update((one, None) for one in _findings(done.stdout, sources, roots))
            if done.returncode and not done.stdout.strip():
                said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
                problems.append(f"clang-tidy, {sources.shown(unit.file)}: {said}")
    return Ran(sorted(found, key=lambda one: (one.file, one.line, one.column)), problems)


def _asked(command: str, unit: Unit, sources: Sources) -> subprocess.CompletedProcess[str]:
    """The configuration; the user's .clang-tidy is neither read nor changed."""
    checks = ",".join(("-*", *_BY_NAME))
    line = [
        command,
        "--quiet",
        f"--config={json.dumps({'Checks': checks})}",
        f"--header-filter=^{re.escape(str(sources.folder))}/",
        unit.file,
        "--",
        *unit.arguments,
    ]
    return subprocess.run(
        line, capture_output=True, text=True, errors="replace", check=False, cwd=unit.folder
    )


def _findings(said: str, sources: Sources, roots: Sequence[str]) -> Iterator[Finding]:
    for found in map(_FINDING.fullmatch, said.splitlines()):
        if found is None:
            continue
        file = os.path.realpath(found["file"])
        names = [name for name in found["names"].split(",") if name in _BY_NAME]
        if not names or not any(Path(file).is_relative_to(root) for root in roots):
            continue
        kind = _BY_NAME[names[0]]
        yield Finding(
            kind.name,
            sources.shown(file),
            int(found["line"]),
            int(found["column"]),
            "",
            "",
            remedy=Remedy(kind.fix, when_not=kind.when_not),
            message=found["text"],
        )


def merged(own: Sequence[Finding], stock: Sequence[Finding]) -> list[Finding]:
    """Both; clang-tidy's findings after ours on the same line, the rest last, without duplicates of ours."""
    reported = {
        (one.kind, one.file, line)
        for one in own
        for line in range(one.line, max(one.line, one.last_line) + 1)
    }
    by_line: dict[tuple[str, int], list[Finding]] = {}
    for one in stock:
        if (_SAME.get(one.kind, ""), one.file, one.line) not in reported:
            by_line.setdefault((one.file, one.line), []).append(one)
    found: list[Finding] = []
    for one in own:
        found.append(one)
        found += by_line.pop((one.file, one.line), [])
    return found + [one for rest in by_line.values() for one in rest]
