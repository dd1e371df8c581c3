# SPDX-License-Identifier: MIT
"""What the exporters share: stacks with a measure, frames with their locations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from heapwright.model import Facts, Location, Trace
from heapwright.model.sites import MARKS

# measure -> (column of Facts.stack_columns, unit, what it says)
MEASURES: dict[str, tuple[str, str, str]] = {
    "bytes": ("bytes", "bytes", "bytes allocated"),
    "calls": ("allocations", "none", "allocations"),
    "peak": ("live_at_peak_bytes", "bytes", "bytes live at the peak"),
    "leaked": ("live_at_end_bytes", "bytes", "bytes live at the end"),
    "temporaries": ("temporaries", "none", "temporary allocations"),
    "time": ("allocator_ns", "nanoseconds", "time in allocation calls"),
}


@dataclass(frozen=True)
class Source:
    """What is exported: a trace and the facts of what was chosen of it."""

    trace: Trace
    facts: Facts

    def weights(self, measure: str) -> Iterator[tuple[int, int]]:
        """(stack, value) of every stack that has some."""
        values = self.facts.stack_columns[MEASURES[measure][0]]
        return ((stack, value) for stack, value in enumerate(values) if value > 0)


class Frames:
    """The locations of each frame, outermost first, looked up once."""

    def __init__(self, trace: Trace) -> None:
        self._symbols = trace.symbols()
        self._known: dict[int, tuple[Location, ...]] = {}

    def locations(self, frame: int) -> tuple[Location, ...]:
        """The frame's locations; a mark stands for frames that are missing."""
        known = self._known.get(frame)
        if known is None:
            found = [MARKS[frame]] if frame in MARKS else self._symbols.locations(frame)
            known = self._known[frame] = tuple(reversed(found))
        return known
