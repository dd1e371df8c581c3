# SPDX-License-Identifier: MIT
"""Which reading of the memory shows it as it was at a moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence

# A change of the resident memory that is none.
_SAME = 0.1
# Readings this near show the moment itself.
_NEAR_NS = 10_000_000


def reading_at(
    times_ns: Sequence[float],
    resident_bytes: Sequence[float],
    at_ns: float,
    calls: Callable[[float, float], int] | None = None,
) -> int:
    """The number of the reading; -1 without any. times_ns: in order. calls: between two times, if known.

    The nearest one; but if that is from before, and calls may have come since, the next if memory was as
    large then, or if fewer calls came until it: while nothing changes nothing is read.

    >>> times = [10e6, 500e6, 1500e6]
    >>> reading_at(times, [5, 200, 198], 620e6), reading_at(times, [5, 200, 9], 620e6)
    (2, 1)
    >>> reading_at(times, [5, 5, 5], 12e6), reading_at([10e6], [5], 900e6), reading_at([], [], 5)
    (0, 0, -1)
    >>> reading_at(times, [5, 200, 9], 620e6, lambda begin, end: 40 if begin < 600e6 else 0)
    2
    >>> reading_at(times, [5, 200, 200], 620e6, lambda begin, end: 0 if begin < 600e6 else 40)
    1
    """
    if not times_ns:
        return -1
    nearest = min(range(len(times_ns)), key=lambda number: abs(times_ns[number] - at_ns))
    following = nearest + 1
    if times_ns[nearest] >= at_ns - _NEAR_NS or following == len(times_ns):
        return nearest
    since = calls(times_ns[nearest], at_ns) if calls is not None else 1
    is_same = abs(resident_bytes[following] - resident_bytes[nearest]) <= _SAME * resident_bytes[nearest]
    is_quiet = calls is not None and calls(at_ns, times_ns[following]) < since
    return following if since and (is_same or is_quiet) else nearest
