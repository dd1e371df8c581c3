# SPDX-License-Identifier: MIT
"""When two sets of runs differ: verdict.by_runs, in the words of a comparison.

No run of one side lies between those of the other, and the medians are further apart than the runs
of either side are among themselves. If nothing differs, every order of the runs is
equally likely, so chance alone separates the sides in at most 2 of (2n over n) orders: 0.8 %
for five runs per side, 10 % for three, for any noise distribution (docs/decisions/0015-compare.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from heapwright.measure import verdict
from heapwright.measure.verdict import LEAST_RUNS

LESS, MORE, SAME, UNKNOWN = "less", "more", "same", "unknown"
VERDICTS = (LESS, MORE, SAME, UNKNOWN)
WORDS = {verdict.BETTER: LESS, verdict.WORSE: MORE, verdict.SAME: SAME, verdict.UNKNOWN: UNKNOWN}
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


def compare(a: Values, b: Values, is_exact: bool, bands: int = 1) -> Difference:
    """The values of the runs of both sides. is_exact: the same in every run of a deterministic program."""
    first, second = verdict.figure_of(a), verdict.figure_of(b)
    found = verdict.by_runs(second, first, least_runs=1 if is_exact else LEAST_RUNS, bands=bands)
    if found.below is None:
        return Difference(first.value, second.value, None, SAME if list(a) == list(b) else UNKNOWN)
    return Difference(first.value, second.value, verdict.band_of(first, second), WORDS[found.side])


def false_alarms_at_most(runs_a: int, runs_b: int) -> float:
    """The expected share of noisy figures called different although nothing is.

    >>> round(false_alarms_at_most(5, 5), 4), round(false_alarms_at_most(3, 3), 2)
    (0.0079, 0.1)
    """
    return 2 / math.comb(runs_a + runs_b, runs_a)
