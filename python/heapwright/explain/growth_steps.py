# SPDX-License-Identifier: MIT
"""Growth in doubling blocks: how full a buffer was follows from when it was replaced by a larger one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

_LEAST_STEPS = 3
_LEAST_FACTOR = 1.4  # containers that grow by a factor use 1.5 or 2
_STILL = 1.01  # between two steps
_MOST_BOTH = 2  # bins a step in which both blocks live: the old one is copied


def contents(values: Sequence[int]) -> list[int] | None:
    """What doubling buffers held, in place of their sizes at the ends of bins; None: it is not such a course.

    At a step the buffer was full: it held its size of before. In between as much came in each bin. After the
    last step it goes on, but holds no more than its size: with more there would be another step.

    >>> contents([4, 4, 8, 8, 16, 16, 16, 16, 32, 32, 32, 32, 32])
    [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24]
    >>> contents([4, 4, 12, 8, 16, 16, 16, 16, 48, 32, 32])
    [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20]
    >>> contents([4, 8, 16, 32, 32, 32, 32])
    [0, 4, 8, 16, 24, 32, 32]
    >>> contents([4, 5, 6, 7, 8, 9, 10]), contents([4, 8, 16, 32, 16, 8, 4])
    (None, None)
    """
    low = list(accumulate(reversed(values), min))[::-1]  # without the bins in which both blocks live
    steps = _steps(low)
    if len(steps) <= _LEAST_STEPS:
        return None
    if sum(value != lowest for value, lowest in zip(values, low, strict=True)) > _MOST_BOTH * len(steps):
        return None
    return _filled(low, steps)


def _steps(values: Sequence[int]) -> list[int]:
    """Where a buffer was replaced by a larger one, from its first on; none if it changed otherwise."""
    steps = [0]
    for place, (before, now) in enumerate(pairwise(values), 1):
        if before <= 0 and now > 0:
            steps = [place]
        elif now >= _LEAST_FACTOR * before > 0:
            steps.append(place)
        elif not before <= now <= _STILL * before:
            return []
    return steps


def _filled(values: Sequence[int], steps: Sequence[int]) -> list[int]:
    held = [0.0] * len(values)
    levels = [0, *(values[place - 1] for place in steps[1:])]
    each = 0.0
    for (first, level), (last, higher) in pairwise(zip(steps, levels, strict=True)):
        each = (higher - level) / (last - first)
        for place in range(first, last):
            held[place] = level + each * (place - first)
    for place in range(steps[-1], len(values)):
        held[place] = min(values[place], levels[-1] + each * (place - steps[-1]))
    return [round(one) for one in held]
