# SPDX-License-Identifier: MIT
"""Finds allocation wrappers in stripped code, where no name gives them away.

A funnel is a frame without a name through which many different callers get
their memory (sqlite's malloc in a stripped library): a wrapper, so the
callers are the sites. Wrappers of wrappers are found in further rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress

MIN_CALLERS = 8
_MAX_ROUNDS = 8


def funnels(
    parents: Sequence[int],
    frames: Sequence[int],
    is_skipped: Callable[[int], bool],
    is_unnamed: Callable[[int], bool],
) -> set[int]:
    """The frames to look through, beside those that are skipped anyway."""
    distinct = set(frames[1:])
    skipped = {frame for frame in distinct if is_skipped(frame)}
    unnamed = {frame for frame in distinct - skipped if is_unnamed(frame)}
    if not unnamed:
        return set()
    up = _nearest_left(parents, frames, skipped)
    is_leaf = bytearray(b"\1") * len(parents)
    for parent in set(parents):
        is_leaf[parent] = 0
    inner = set(compress(up, is_leaf)) - {0}
    found: set[int] = set()

    def caller_of(stack: int) -> int:
        caller = up[parents[stack]]
        while caller != 0 and frames[caller] in found:
            caller = up[parents[caller]]
        return caller

    for _ in range(_MAX_ROUNDS):
        callers: dict[int, set[int]] = {}
        for stack in [stack for stack in inner if frames[stack] in unnamed]:
            if caller := caller_of(stack):
                callers.setdefault(frames[stack], set()).add(frames[caller])
        new = {frame for frame, of in callers.items() if len(of) >= MIN_CALLERS}
        if not new:
            break
        found |= new
        inner = {caller_of(stack) if frames[stack] in new else stack for stack in inner} - {0}
    return found


def _nearest_left(parents: Sequence[int], frames: Sequence[int], skipped: set[int]) -> list[int]:
    """For each stack: itself, or the nearest caller whose frame is not skipped; 0 = none."""
    up = list(range(len(parents)))
    for stack in [stack for stack, frame in enumerate(frames) if frame in skipped]:
        up[stack] = up[parents[stack]]
    return up
