# SPDX-License-Identifier: MIT
"""Finds allocation wrappers in stripped code, where no name gives them away.

A funnel is a frame without a name through which many different callers get
their memory; src/analyze/funnels.hpp finds them.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence

from heapwright import _native

MIN_CALLERS = _native.FUNNEL_CALLERS


def funnels(
    parents: Sequence[int],
    frames: Sequence[int],
    used: Iterable[int],
    is_skipped: Callable[[int], bool],
    is_unnamed: Callable[[int], bool],
) -> list[int]:
    """The frames to look through, beside those that are skipped anyway; used: the distinct ones."""
    seen = [frame for frame in used if not is_skipped(frame)]
    unnamed = [frame for frame in seen if is_unnamed(frame)]
    if not unnamed:
        return []
    kinds = bytearray([_native.FRAME_SKIPPED]) * (max(seen) + 1)  # any beyond are skipped, too
    for frame in seen:
        kinds[frame] = _native.FRAME_NAMED
    for frame in unnamed:
        kinds[frame] = _native.FRAME_UNNAMED
    return _native.find_funnels(packed(parents), packed(frames), bytes(kinds))


def packed(numbers: Sequence[int]) -> bytes:
    """As the native module takes them."""
    return bytes(numbers) if isinstance(numbers, memoryview) else array("I", numbers).tobytes()
