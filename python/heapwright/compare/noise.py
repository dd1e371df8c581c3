# SPDX-License-Identifier: MIT
"""When two sets of runs differ.

They do if no run of one side lies between those of the other, and the medians are further apart
than the runs of either side are among themselves. If nothing differs, every order of the runs is
equally likely, so chance alone separates the sides in at most 2 of (2n over n) orders: 0.8 %
for five runs per side, 10 % for three, for any noise distribution (docs/decisions/0015-compare.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

LESS, MORE, SAME, UNKNOWN = "less", "more", "same", "unknown"
VERDICTS = (LESS, MORE, SAME, UNKNOWN)
LEAST_RUNS = 3
# For figures of single sites, which are many: the distance of the medians in bands.
SITE_BANDS = 2

Values = Sequence[float]


class Difference(NamedTuple):
    """Comparison of medians. band: the spread of one side's runs; None: not known."""

    a: float
    b: float
    band: float | None
    verdict: str

    @property
    def difference(self) -> float:
        """B minus A."""
        return self.b - self.a

    @property
    def relative(self) -> float | None:
        """Relative to A; None if A has none of it."""
        return self.difference / self.a if self.a else None


class Range(NamedTuple):
    """The values of one side's runs."""

    low: float
    middle: float
    high: float


def range_of(values: Values) -> Range:
    """values must not be empty."""
    return Range(min(values), median(values), max(values))


def verdict_of(a: Range, b: Range, least: float) -> str:
    """least: the medians have to be further apart than this."""
    are_apart = a.high < b.low or b.high < a.low
    if not are_apart or abs(b.middle - a.middle) <= least:
        return SAME
    return MORE if b.middle > a.middle else LESS


def band_of(a: Range, b: Range) -> float:
    """The spread of one side's runs."""
    return max(a.high - a.low, b.high - b.low)


def compare(a: Values, b: Values, is_exact: bool, bands: int = 1) -> Difference:
    """The values of the runs of both sides. is_exact: the same in every run of a deterministic program."""
    first, second = range_of(a), range_of(b)
    if not is_exact and min(len(a), len(b)) < LEAST_RUNS:
        return Difference(first.middle, second.middle, None, SAME if list(a) == list(b) else UNKNOWN)
    band = band_of(first, second)
    return Difference(first.middle, second.middle, band, verdict_of(first, second, bands * band))


def false_alarms_at_most(runs_a: int, runs_b: int) -> float:
    """The expected share of noisy figures called different although nothing is.

    >>> round(false_alarms_at_most(5, 5), 4), round(false_alarms_at_most(3, 3), 2)
    (0.0079, 0.1)
    """
    return 2 / math.comb(runs_a + runs_b, runs_a)
