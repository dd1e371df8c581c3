# SPDX-License-Identifier: MIT
"""Which stacks did not reach their outermost frame, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from heapwright.model import sites

_NO_TABLES = "no unwind information in {}"
_WHY = {
    sites.FRAME_TRUNCATED: "they could not be unwound further",
    sites.FRAME_TABLE_FULL: "the recorder's stack table was full",
    sites.FRAME_TOO_DEEP: "they are deeper than the limit (--max-frames)",
    sites.FRAME_NO_TABLES: _NO_TABLES,
    sites.FRAME_NO_OBJECT: "code in no loaded file (made at run time)",
}
_SHOWN = 3


class CutStacks(NamedTuple):
    """reasons: in words, with how many stacks each cut, most first; stacks: all, also whole ones."""

    stacks: int
    reasons: Sequence[tuple[str, int]]

    def lines(self) -> list[str]:
        """One for each reason; empty: all are whole."""
        return [
            f"{_percent(count, self.stacks)} of stacks are cut: {why}" for why, count in self.reasons[:_SHOWN]
        ]


def cut_stacks(parents: Sequence[int], frames: Sequence[int], library: Callable[[int], str]) -> CutStacks:
    """Counts stacks that no other goes through. library: of a frame.

    >>> cut_stacks([0, 0, 1, 2, 0], [0, sites.FRAME_NO_TABLES, 0, 1, 2], lambda frame: "libfoo.so").lines()
    ['50 % of stacks are cut: no unwind information in libfoo.so']
    >>> cut_stacks([0, 0, 1, 1, 0], [0, 5, 6, 7, 8], str)
    CutStacks(stacks=3, reasons=())
    """
    if _WHY.keys().isdisjoint(frames):  # as nearly always: without a loop over what may be millions
        return CutStacks(max(0, len(frames) - 1) - len({*parents[1:]} - {0}), ())
    reasons = [""] * len(frames)
    is_innermost = bytearray([1]) * len(frames)
    is_innermost[:1] = b"\0"  # no stack
    for stack in range(1, len(frames)):  # callers have lower numbers
        frame, parent = frames[stack], parents[stack]
        is_innermost[parent] = 0
        if frame in _WHY:
            reasons[stack] = _WHY[frame]
            is_innermost[stack] = reasons[stack] != _NO_TABLES
        else:
            why = reasons[parent]
            reasons[stack] = why.format(library(frame)) if why == _NO_TABLES else why
    found = Counter(reasons[stack] for stack in range(1, len(frames)) if is_innermost[stack])
    total = sum(found.values())
    del found[""]
    return CutStacks(total, found.most_common())


def _percent(part: int, whole: int) -> str:
    share = 100 * part / whole
    return f"{share:.0f} %" if share >= 1 else "under 1 %"
