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
    """reasons: in words, with how many of `total` each cut, most first. total: all, also of whole stacks.

    unit: what is counted, stacks that differ or allocations."""

    total: int
    reasons: Sequence[tuple[str, int]]
    unit: str

    def lines(self) -> list[str]:
        """One for each reason; empty: all are whole."""
        return [
            f"{_percent(count, self.total)} of {self.unit} are cut: {why}"
            for why, count in self.reasons[:_SHOWN]
        ]


def cut_stacks(
    parents: Sequence[int],
    frames: Sequence[int],
    library: Callable[[int], str],
    allocations: Sequence[int] | None = None,
) -> CutStacks:
    """Counts allocations with such a stack; if they are not known, stacks that no other goes through.

    library: of a frame. allocations: by stack.

    >>> tree = [0, 0, 1, 2, 0], [0, sites.FRAME_NO_TABLES, 0, 1, 2]
    >>> cut_stacks(*tree, lambda frame: "libfoo.so").lines()
    ['50 % of distinct stacks are cut: no unwind information in libfoo.so']
    >>> cut_stacks(*tree, lambda frame: "libfoo.so", [0, 0, 8, 90, 2]).lines()
    ["98 % of allocations' stacks are cut: no unwind information in libfoo.so"]
    >>> cut_stacks([0, 0, 1, 1, 0], [0, 5, 6, 7, 8], str)
    CutStacks(total=3, reasons=(), unit='distinct stacks')
    """
    unit = "distinct stacks" if allocations is None else "allocations' stacks"
    if _WHY.keys().isdisjoint(frames):  # as nearly always: without a loop over what may be millions
        return CutStacks(max(0, len(frames) - 1) - len({*parents[1:]} - {0}), (), unit)
    reasons = why_cut(parents, frames, library)
    weights = allocations or _innermost(parents, frames)
    found: Counter[str] = Counter()
    for stack in range(1, len(frames)):
        found[reasons[stack]] += weights[stack]
    total = sum(found.values())
    return CutStacks(total, [(why, count) for why, count in found.most_common() if why and count], unit)


def why_cut(parents: Sequence[int], frames: Sequence[int], library: Callable[[int], str]) -> list[str]:
    """By stack, why it did not reach its outermost frame; empty: it did."""
    reasons = [""] * len(frames)
    for stack in range(1, len(frames)):  # callers have lower numbers
        frame, why = frames[stack], reasons[parents[stack]]
        reasons[stack] = _WHY.get(frame) or (why.format(library(frame)) if why == _NO_TABLES else why)
    return reasons


def _innermost(parents: Sequence[int], frames: Sequence[int]) -> bytearray:
    """By stack, 1 if no other goes through it; a mark alone is no stack."""
    found = bytearray([1]) * len(frames)
    for stack in range(1, len(frames)):
        found[parents[stack]] = 0
        if frames[stack] == sites.FRAME_NO_TABLES:
            found[stack] = 0
    return found


def _percent(part: int, whole: int) -> str:
    share = 100 * part / whole
    return f"{share:.0f} %" if share >= 1 else "under 1 %"
