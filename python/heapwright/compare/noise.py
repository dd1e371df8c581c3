# SPDX-License-Identifier: MIT
"""When two sets of runs differ.

They do where no run of one side lies between those of the other, and the medians are further apart
than the runs of either side are among themselves. If nothing differs, every order of the runs is
as likely as any other, so that chance alone separates the sides at most in 2 of (2n over n) orders: 0.8 %
for five runs a side, 10 % for three, whatever the noise looks like (docs/decisions/0015-compare.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

LESS, MORE, SAME, UNKNOWN = "less", "more", "same", "unknown"
VERDICTS = (LESS, MORE, SAME, UNKNOWN)
LEAST_RUNS = 3
# Of the figures of single sites, which are many: how many bands the medians have to be apart.
SITE_BANDS = 2

Values = Sequence[float]


class Difference(NamedTuple):
    """Of medians. band: how far runs of one side are apart; None: not known."""

    a: float
    b: float
    band: float | None
    verdict: str

    @property
    def difference(self) -> float:
        """How much B has more."""
        return self.b - self.a

    @property
    def relative(self) -> float | None:
        """A share of A; None where A has none of it."""
        return self.difference / self.a if self.a else None


class Range(NamedTuple):
    """Of the runs of one side."""

    low: float
    middle: float
    high: float


def range_of(values: Values) -> Range:
    """values must not be empty."""
    return Range(min(values), median(values), max(values))


def verdict_of(a: Range, b: Range, least: float) -> str:
    """least: what the medians have to be further apart than."""
    are_apart = a.high < b.low or b.high < a.low
    if not are_apart or abs(b.middle - a.middle) <= least:
        return SAME
    return MORE if b.middle > a.middle else LESS


def band_of(a: Range, b: Range) -> float:
    """How far the runs of one side are apart."""
    return max(a.high - a.low, b.high - b.low)


def compare(a: Values, b: Values, is_exact: bool, bands: int = 1) -> Difference:
    """The values of the runs of both sides. is_exact: a program that does the same has the same."""
    first, second = range_of(a), range_of(b)
    if not is_exact and min(len(a), len(b)) < LEAST_RUNS:
        return Difference(first.middle, second.middle, None, SAME if list(a) == list(b) else UNKNOWN)
    band = band_of(first, second)
    return Difference(first.middle, second.middle, band, verdict_of(first, second, bands * band))


def false_alarms_at_most(runs_a: int, runs_b: int) -> float:
    """The share of the figures with noise that are called different though nothing is.

    >>> round(false_alarms_at_most(5, 5), 4), round(false_alarms_at_most(3, 3), 2)
    (0.0079, 0.1)
    """
    return 2 / math.comb(runs_a + runs_b, runs_a)
