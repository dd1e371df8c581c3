# SPDX-License-Identifier: MIT
"""The accuracy of a replay: its resident memory compared to the recorded one, at the same moments.

The process also has memory outside its heap: the difference at the mark where the replay holds least,
which is added to all marks. It cannot be far below zero: memory of the replay that the recorded process
did not have is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

# Of the replay process itself: libraries' data, stacks.
_OWN_BYTES = 256 << 10
KEYS = ("peak_bytes", "mean_bytes", "end_bytes")


class Curve(NamedTuple):
    """Resident memory at moments."""

    peak_bytes: float
    mean_bytes: float
    end_bytes: float


class Fidelity(NamedTuple):
    """recorded, replayed: of the process; errors: of the replay, in bytes."""

    recorded: Curve
    replayed: Curve
    beside_heap_bytes: float
    errors: Curve

    @property
    def relative_peak(self) -> float:
        """The error of the peak as a share of the recorded peak; above 0: the replay has more."""
        return (self.replayed.peak_bytes - self.recorded.peak_bytes) / max(self.recorded.peak_bytes, 1)


def curve_of(times_ns: Sequence[float], values: Sequence[float]) -> Curve:
    """The peak, the mean over time and the end."""
    steps = [later - earlier for earlier, later in pairwise(times_ns)]
    area = sum(value * step for value, step in zip(values, steps, strict=False))
    mean = area / sum(steps) if sum(steps) > 0 else values[-1]
    return Curve(max(values), mean, values[-1])


def compare(
    times_ns: Sequence[float], recorded: Sequence[float], replayed: Sequence[float]
) -> Fidelity | None:
    """None if the recording did not read its memory."""
    if not times_ns or len(replayed) != len(recorded) or max(recorded) <= 0:
        return None
    least = min(range(len(replayed)), key=lambda i: replayed[i])
    beside = max(recorded[least] - replayed[least], -float(_OWN_BYTES))
    real = curve_of(times_ns, recorded)
    own = curve_of(times_ns, [value + beside for value in replayed])
    errors = Curve(*(abs(a - b) for a, b in zip(real, own, strict=True)))
    return Fidelity(real, own, beside, errors)
