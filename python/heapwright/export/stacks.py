# SPDX-License-Identifier: MIT
"""Shared by the exporters: stacks with a measure, frames with their locations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from heapwright.model import NO_LIMIT, Facts, Location, Trace
from heapwright.model.sites import MARKS
from heapwright.model.wholeness import in_words


class Measure(NamedTuple):
    """columns: of Facts.stacks; their sum is the value. unit: speedscope's word."""

    columns: tuple[str, ...]
    unit: str
    title: str


MEASURES: dict[str, Measure] = {
    "bytes": Measure(("bytes",), "bytes", "bytes allocated"),
    "calls": Measure(("allocations",), "none", "allocations"),
    "peak": Measure(("live_at_peak_bytes",), "bytes", "bytes live at the peak"),
    "leaked": Measure(("live_at_end_bytes",), "bytes", "bytes live at the end"),
    "temporaries": Measure(("temporaries",), "none", "temporary allocations"),
    "time": Measure(
        ("allocator_ns", "release_ns"),
        "nanoseconds",
        "time in allocation calls and the frees of their blocks",
    ),
}


@dataclass(frozen=True)
class Source:
    """What is exported: a trace, the facts of the selection, and the selected time."""

    trace: Trace
    facts: Facts
    from_ns: int = 0
    to_ns: int = NO_LIMIT

    @property
    def warning(self) -> str:
        """A note for the reader of the file: why calls are missing; empty: none are."""
        return in_words(self.trace.lost_calls(self.facts))

    def weights(self, measure: str) -> Iterator[tuple[int, int]]:
        """(stack, value) of every stack with a value."""
        values = self.sums(MEASURES[measure].columns)
        return ((stack, value) for stack, value in enumerate(values) if value > 0)

    def sums(self, columns: Sequence[str]) -> Iterator[int]:
        """The sum of the columns for each stack, from 0."""
        return map(sum, zip(*(self.facts.stacks[column] for column in columns), strict=True))


class Frames:
    """The locations of each frame, outermost first, looked up once."""

    def __init__(self, trace: Trace) -> None:
        self._symbols = trace.symbols()
        self._known: dict[int, tuple[Location, ...]] = {}

    def locations(self, frame: int) -> tuple[Location, ...]:
        """The frame's locations; a mark represents missing frames."""
        known = self._known.get(frame)
        if known is None:
            found = [MARKS[frame]] if frame in MARKS else self._symbols.locations(frame)
            known = self._known[frame] = tuple(reversed(found))
        return known
