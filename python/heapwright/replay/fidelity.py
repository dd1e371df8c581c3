# SPDX-License-Identifier: MIT
"""The accuracy of a replay: its resident memory compared to the recorded one, at the same moments.

The process also has memory outside its heap: the difference at the marks where the replay holds least,
which is added to all marks. It cannot be far below zero: memory of the replay that the recorded process
did not have is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median_low

from heapwright.replay.figures import KEYS
from heapwright.replay.result import Curve, Fidelity

# Of the replay process itself: libraries' data, stacks.
_OWN_BYTES = 256 << 10
# Of the range of the replay's memory: marks as low as this tell what the process has besides.
_LOW = 0.1


def curve_of(times_ns: Sequence[float], values: Sequence[float]) -> Curve:
    """The peak, the mean over time and the end."""
    steps = [later - earlier for earlier, later in pairwise(times_ns)]
    area = sum(value * step for value, step in zip(values, steps, strict=False))
    mean = area / sum(steps) if sum(steps) > 0 else values[-1]
    return Curve(max(values), mean, values[-1])


def _beside(recorded: Sequence[float], replayed: Sequence[float]) -> float:
    """The usual difference at the marks where the replay holds about the least: at one of them alone the
    recording may have been read just before the memory went, as by malloc_trim."""
    least, most = min(replayed), max(replayed)
    low = [
        of - own for of, own in zip(recorded, replayed, strict=True) if own <= least + _LOW * (most - least)
    ]
    return median_low(low)


def compare(
    times_ns: Sequence[float], recorded: Sequence[float], replayed: Sequence[float]
) -> Fidelity | None:
    """None if the recording did not read its memory."""
    if not times_ns or len(replayed) != len(recorded) or max(recorded) <= 0:
        return None
    beside = max(_beside(recorded, replayed), -float(_OWN_BYTES))
    real = curve_of(times_ns, recorded)
    own = curve_of(times_ns, [value + beside for value in replayed])
    errors = Curve(*(abs(getattr(real, key) - getattr(own, key)) for key in KEYS))
    relative = (own.peak_bytes - real.peak_bytes) / max(real.peak_bytes, 1)
    return Fidelity(real, own, errors, beside, relative)
