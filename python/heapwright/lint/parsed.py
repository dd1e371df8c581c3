# SPDX-License-Identifier: MIT
"""The expressions at the requested lines, and the units parsed for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from heapwright.lint import lines, parse, pool
from heapwright.lint.compile import Database
from heapwright.lint.expression import LineFacts
from heapwright.lint.lines import Group, Place
from heapwright.lint.sources import Sources
from heapwright.model import Trace

_MOST_NEAR = 8  # files that called a line, searched for one that includes it

Progress = Callable[[str, int, int], object]


class Input(NamedTuple):
    """paths: only these files or files under them; empty = all. resource: for libclang. jobs: in parallel."""

    trace: Trace
    sources: Sources
    database: Database
    resource: tuple[str, ...]
    paths: tuple[str, ...]
    jobs: int


class ParsedLines:
    """The expressions at the lines requested so far."""

    def __init__(self, given: Input, progress: Progress) -> None:
        self._given = given
        self._progress = progress
        self._asked: set[Place] = set()
        self._found: dict[Place, LineFacts] = {}
        self.files: set[str] = set()
        self.problems: dict[str, str] = {}

    def at(self, place: Place) -> LineFacts | None:
        return self._found.get(place)

    def read(self, groups: Iterable[Group]) -> None:
        """Parses the units with lines not requested before."""
        near: dict[str, list[str]] = {}
        wanted: dict[str, set[int]] = {}
        for group in groups:
            assert group.place is not None
            if group.place in self._asked:
                continue
            wanted.setdefault(group.place[0], set()).add(group.place[1])
            near.setdefault(group.place[0], []).extend(self._units_near(group))
        self._asked.update((file, line) for file, own in wanted.items() for line in own)
        units = {file: self._given.database.unit_of(file, near[file]) for file in wanted}
        jobs: dict[str, parse.Job] = {}
        for file, unit in units.items():
            before = jobs.get(unit.file)
            known = dict(before.lines) if before else {}
            jobs[unit.file] = parse.Job(unit, self._given.resource, {**known, file: frozenset(wanted[file])})
        answers = pool.run_all(
            parse.parse,
            list(jobs.values()),
            self._given.jobs,
            lambda done, whole: self._progress("parsing", done, whole),
        )
        for job, answer in zip(jobs.values(), answers, strict=True):
            self._found.update(answer.found)
            self.files |= answer.files
            if answer.errors:
                self.problems[job.unit.file] = answer.errors[0]

    def _units_near(self, group: Group) -> list[str]:
        """The files of the lines that called this one: one of them includes a header."""
        assert group.place is not None
        trace, sources = self._given.trace, self._given.sources
        found = [place[0] for place, _ in lines.callers(trace, sources, group.stack, group.place)]
        return list(dict.fromkeys(found))[:_MOST_NEAR]
