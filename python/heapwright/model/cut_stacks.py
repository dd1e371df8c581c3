# SPDX-License-Identifier: MIT
"""Which stacks did not reach their outermost frame, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

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


def cut_in_words(parents: Sequence[int], frames: Sequence[int], library: Callable[[int], str]) -> list[str]:
    """A line for each reason, most stacks first; empty: all are whole. library: of a frame.

    >>> cut_in_words([0, 0, 1, 2, 0], [0, sites.FRAME_NO_TABLES, 0, 1, 2], lambda frame: "libfoo.so")
    ['50 % of stacks are cut: no unwind information in libfoo.so']
    """
    if _WHY.keys().isdisjoint(frames):
        return []
    reasons = [""] * len(frames)
    is_innermost = bytearray([1]) * len(frames)
    is_innermost[0] = 0
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
    return [f"{_percent(count, total)} of stacks are cut: {why}" for why, count in found.most_common(_SHOWN)]


def _percent(part: int, whole: int) -> str:
    share = 100 * part / whole
    return f"{share:.0f} %" if share >= 1 else "under 1 %"
