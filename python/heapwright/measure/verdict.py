# SPDX-License-Identifier: MIT
"""Whether one figure differs from another: better, worse, the same, or not to be told.

Less is better. A difference counts above a least distance of the medians, which a verdict states: below it
nothing can be told. Two rules say what the runs of equal figures may show:

- by_noise: their spreads together, or the share by which halves of one figure's runs differ. It serves
  medians of few runs of a benchmark, and more of them make it finer.
- by_runs: a run of one side lies between those of the other, or the medians are no further apart than
  one side's runs, times bands. It needs no assumption on the noise (docs/decisions/0015-compare.md).

On top comes what the caller knows: errors of the measurement, or a difference that is no reason to act.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

VERDICTS = BETTER, WORSE, SAME, UNKNOWN = "better", "worse", "same", "unknown"
# Two sides of fewer runs lie apart by chance in over 10 % of all cases.
LEAST_RUNS = 3


class Figure(NamedTuple):
    """A figure of several runs: value is their median.

    spread: the median distance from it; noise: by which share of themselves halves of the runs differ.
    """

    low: float
    value: float
    high: float
    runs: int
    spread: float = 0.0
    noise: float = 0.0


class Verdict(NamedTuple):
    """side: of VERDICTS. below: smaller differences are not told; None: there are too few runs to say."""

    side: str
    below: float | None


def figure_of(values: Sequence[float]) -> Figure:
    """The figure of these runs, whose noise by_runs does not ask for. values must not be empty."""
    return Figure(min(values), median(values), max(values), len(values))


def side_of(difference: float, below: float) -> str:
    """Of a difference to the reference; up to `below` it is none."""
    if abs(difference) <= below:
        return SAME
    return BETTER if difference < 0 else WORSE


def relative_difference(a: float, b: float) -> float:
    """0 for equal values, 1 where one of them is 0."""
    largest = max(abs(a), abs(b))
    return abs(a - b) / largest if largest > 0 else 0.0


def by_noise(
    own: Figure, reference: Figure, least: float = 0.0, least_runs: int = 0, floor: float = 0.0
) -> Verdict:
    """least: a smaller difference does not count. floor: a share that is noise whatever the runs show."""
    noise = max(floor, own.noise, reference.noise)
    spread = own.spread + reference.spread
    largest = max(abs(own.value), abs(reference.value))
    below = max(least, spread, noise * largest)
    if min(own.runs, reference.runs) < least_runs:
        return Verdict(UNKNOWN, below)
    difference = own.value - reference.value
    is_noise = abs(difference) <= spread or relative_difference(own.value, reference.value) <= noise
    return Verdict(SAME if is_noise else side_of(difference, least), below)


def by_runs(
    own: Figure, reference: Figure, least: float = 0.0, least_runs: int = LEAST_RUNS, bands: int = 1
) -> Verdict:
    """least: a smaller difference does not count. bands: how many times a side's runs, at least."""
    if min(own.runs, reference.runs) < least_runs:
        return Verdict(UNKNOWN, None)
    below = max(least, bands * band_of(own, reference))
    are_apart = own.high < reference.low or reference.high < own.low
    return Verdict(side_of(own.value - reference.value, below) if are_apart else SAME, below)


def band_of(own: Figure, other: Figure) -> float:
    """How far one side's runs lie apart, of the side where that is more."""
    return max(own.high - own.low, other.high - other.low)
