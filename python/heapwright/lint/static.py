# SPDX-License-Identifier: MIT
"""Findings without a recording."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from heapwright.lint.checks import run
from heapwright.lint.checks.kinds import CHECKS
from heapwright.lint.checks.tree import Problem
from heapwright.lint.compile import SOURCE_ENDINGS, Database
from heapwright.lint.expression import UNKNOWN, Owner
from heapwright.lint.finding import Finding, Remedy
from heapwright.lint.sources import Sources

_BY_NAME = {kind.name: kind for kind in CHECKS}


def look(
    sources: Sources,
    database: Database,
    resource: tuple[str, ...],
    paths: Sequence[str],
    progress: Callable[[str, int, int], object],
) -> tuple[list[Finding], list[str], int]:
    """The findings, what files have wrong with them, and how many were parsed."""
    roots = tuple(paths) or (str(sources.folder),)
    jobs = [run.Job(database.unit_of(file), resource, roots) for file in files(sources, database, paths)]
    answers = run.check_all(jobs, lambda done, whole: progress("parsing", done, whole))
    found: dict[tuple[str, Problem], None] = {}  # a header is in several units
    problems = []
    for job, answer in zip(jobs, answers, strict=True):
        found.update(((file, one), None) for file, own in answer.problems.items() for one in own)
        if answer.error:
            problems.append(f"{sources.shown(job.unit.file)}: {answer.error}")
    ordered = sorted(found, key=lambda one: (one[0], one[1].line, one[1].column))
    return [_finding(sources.shown(file), one) for file, one in ordered], problems, len(jobs)


def files(sources: Sources, database: Database, paths: Sequence[str]) -> list[str]:
    """What is compiled, of the paths: as compile_commands.json says, else all sources there."""
    roots = list(paths) or [str(sources.folder)]
    if database.units:
        known = [file for file in database.units if any(Path(file).is_relative_to(root) for root in roots)]
        named = [path for path in paths if Path(path).is_file() and path not in known]
        return sorted({*known, *named})
    found: set[str] = set()
    for root in map(Path, roots):
        below = [root] if root.is_file() else root.rglob("*")
        found.update(str(path) for path in below if path.suffix in SOURCE_ENDINGS and path.is_file())
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
    )
