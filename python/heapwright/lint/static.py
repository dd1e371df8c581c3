# SPDX-License-Identifier: MIT
"""Findings without a recording."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from heapwright.lint import pool
from heapwright.lint.checks import run
from heapwright.lint.checks.kinds import CHECKS
from heapwright.lint.checks.tree import Problem
from heapwright.lint.compile import HEADER_ENDINGS, SOURCE_ENDINGS, Database, Unit, included
from heapwright.lint.expression import UNKNOWN, Owner
from heapwright.lint.finding import Finding, Remedy
from heapwright.lint.sources import Sources

_BY_NAME = {kind.name: kind for kind in CHECKS}
Progress = Callable[[str, int, int], object]


class Input(NamedTuple):
    """paths: only these files or files under them; empty = all. resource: for libclang. jobs: in parallel."""

    sources: Sources
    database: Database
    resource: tuple[str, ...]
    paths: tuple[str, ...]
    jobs: int


class Looked(NamedTuple):
    """problems: errors in files. files: checked sources; parsed: those with words that a check looks for;
    unread: those of them that libclang could not read at all. left: headers with such words that no source
    includes."""

    findings: list[Finding]
    problems: list[str]
    files: int
    parsed: int
    unread: int
    left: tuple[str, ...]


def look(given: Input, progress: Progress) -> Looked:
    """Parses the units with words that a check looks for, then one for each header with such words that these
    do not include."""
    sources = files(given.sources, given.database, given.paths)
    headers = _below(given.sources, given.paths, HEADER_ENDINGS)
    checked = _Checked(given, progress)
    checked.add([given.database.unit_of(file) for file in sources if _may_have_some(file)])
    left = [file for file in headers if file not in checked.seen and _may_have_some(file)]
    checked.add(_units_with(given, left))
    still = tuple(given.sources.shown(file) for file in left if file not in checked.seen)
    ordered = sorted(checked.found, key=lambda one: (one[0], one[1].line, one[1].column))
    findings = [_finding(given.sources.shown(file), one) for file, one in ordered]
    files_looked_at = len({*sources, *headers})
    return Looked(findings, checked.problems, files_looked_at, checked.parsed, checked.unread, still)


def _units_with(given: Input, headers: Sequence[str]) -> list[Unit]:
    """For each header a unit that includes it, directly or indirectly. A header that nothing includes is
    parsed alone, but only if requested by name."""
    if not headers:
        return []
    sources = files(given.sources, given.database, ())
    includers: dict[str, list[str]] = {}
    for file in (*sources, *_below(given.sources, (), HEADER_ENDINGS)):
        for name in included(file):
            includers.setdefault(name, []).append(file)
    known = frozenset(sources)
    found = [_includer(header, includers, known) for header in headers]
    alone = [
        header for header, other in zip(headers, found, strict=True) if not other and header in given.paths
    ]
    return [given.database.unit_of(file) for file in (*filter(None, found), *alone)]


def _includer(header: str, includers: Mapping[str, Sequence[str]], sources: Collection[str]) -> str:
    """The nearest source that includes it; "" = none."""
    reached = [header]
    for file in reached:
        for other in includers.get(Path(file).name, ()):
            if other in sources:
                return other
            if other not in reached:
                reached.append(other)
    return ""


class _Checked:
    """The findings of the added units, each place once, as a header is in several units."""

    def __init__(self, given: Input, progress: Progress) -> None:
        self._given = given
        self._progress = progress
        self._roots = given.paths or (str(given.sources.folder),)
        self.found: dict[tuple[str, Problem], None] = {}
        self.problems: list[str] = []
        self.seen: set[str] = set()
        self.parsed = 0
        self.unread = 0

    def add(self, units: Sequence[Unit]) -> None:
        own = list({unit.file: unit for unit in units}.values())
        jobs = [run.Job(unit, self._given.resource, self._roots) for unit in own]
        answers = pool.run_all(
            run.check, jobs, self._given.jobs, lambda done, whole: self._progress("parsing", done, whole)
        )
        self.parsed += len(jobs)
        for job, answer in zip(jobs, answers, strict=True):
            self.seen |= answer.files
            self.unread += bool(answer.error) and not answer.files
            self.found.update(((file, one), None) for file, of in answer.problems.items() for one in of)
            if answer.error:
                self.problems.append(f"{self._given.sources.shown(job.unit.file)}: {answer.error}")


def _may_have_some(file: str) -> bool:
    try:
        return run.may_have_some(Path(file).read_bytes())
    except OSError:
        return False


def files(sources: Sources, database: Database, paths: Sequence[str]) -> list[str]:
    """The compiled files among the paths: those in compile_commands.json, otherwise all sources."""
    if not database.units:
        return _below(sources, paths, SOURCE_ENDINGS)
    roots = list(paths) or [str(sources.folder)]
    known = [file for file in database.units if any(Path(file).is_relative_to(root) for root in roots)]
    named = [path for path in paths if Path(path).is_file() and path not in known]
    return sorted({*known, *named})


def _below(sources: Sources, paths: Sequence[str], endings: tuple[str, ...]) -> list[str]:
    found: set[str] = set()
    for root in map(Path, paths or [str(sources.folder)]):
        below = [root] if root.is_file() else root.rglob("*")
        found.update(str(path) for path in below if path.suffix in endings and path.is_file())
    return sorted(found)


def _finding(file: str, one: Problem) -> Finding:
    kind = _BY_NAME[one.kind]
    return Finding(
        one.kind,
        file,
        one.line,
        one.column,
        one.function,
        one.expression,
        one.type_name,
        owner=Owner(UNKNOWN, one.owner),
        remedy=Remedy(one.action or kind.fix, when_not=kind.when_not),
        message=one.message,
        last_line=one.last_line,
        fix=one.fix,
    )
