# SPDX-License-Identifier: MIT
"""Finds allocation wrappers in stripped code, where no name gives them away.

A funnel is a frame without a name through which many different callers get
their memory; src/analyze/funnels.hpp finds them.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence

from heapwright import _native

MIN_CALLERS = _native.FUNNEL_CALLERS

# src/analyze/funnels.hpp: FrameKind
_SKIPPED, _UNNAMED = 1, 2


def funnels(
    parents: Sequence[int],
    frames: Sequence[int],
    is_skipped: Callable[[int], bool],
    is_unnamed: Callable[[int], bool],
) -> list[int]:
    """The frames to look through, beside those that are skipped anyway."""
    seen = [frame for frame in set(frames[1:]) if not is_skipped(frame)]
    unnamed = [frame for frame in seen if is_unnamed(frame)]
    if not unnamed:
        return []
    kinds = bytearray([_SKIPPED]) * (max(seen) + 1)  # any beyond are skipped, too
    for frame in seen:
        kinds[frame] = 0
    for frame in unnamed:
        kinds[frame] = _UNNAMED
    return _native.find_funnels(_packed(parents), _packed(frames), bytes(kinds))


def _packed(numbers: Sequence[int]) -> bytes:
    return bytes(numbers) if isinstance(numbers, memoryview) else array("I", numbers).tobytes()
