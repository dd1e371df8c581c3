# SPDX-License-Identifier: MIT
"""Medians, spread, the noise floor, and ranks.

The noise of an allocator against itself: its runs are split into two halves
in every possible way, and 95 % of these splits differ by less than the noise.
The reference allocator is run twice as often, so that two full sets of it can
be compared. Two allocators are equal where verdict.by_noise tells no
difference, with the noise of the reference as the floor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Literal

from heapwright.measure import verdict
from heapwright.measure.verdict import relative_difference

Better = Literal["lower", "higher"]

_MOST_VALUES = 10  # 252 splits; more runs are thinned out evenly
_COVERED = 0.95


@dataclass(frozen=True, slots=True)
class Summary:
    """Several runs of one figure; spread is the median distance from the median."""

    median: float
    spread: float
    low: float
    high: float
    noise: float
    runs: int = 0  # 0: not kept (older results)

    @property
    def relative_spread(self) -> float:
        """A share of the median."""
        return self.spread / abs(self.median) if self.median else 0.0

    def as_figure(self) -> verdict.Figure:
        """For verdicts."""
        return verdict.Figure(self.low, self.median, self.high, self.runs, self.spread, self.noise)


def noise_of(values: Sequence[float]) -> float:
    """The relative difference that two halves of the same runs may show."""
    if len(values) < 2:
        return 0.0
    if len(values) > _MOST_VALUES:
        step = len(values) / _MOST_VALUES
        values = [values[int(i * step)] for i in range(_MOST_VALUES)]
    indices = range(len(values))
    differences = []
    for half in combinations(indices, len(values) // 2):
        other = [values[i] for i in indices if i not in half]
        differences.append(relative_difference(median(values[i] for i in half), median(other)))
    differences.sort()
    return differences[min(len(differences) - 1, int(_COVERED * len(differences)))]


def summarize(values: Sequence[float]) -> Summary:
    """values must not be empty."""
    middle = median(values)
    spread = median(abs(value - middle) for value in values)
    return Summary(middle, spread, min(values), max(values), noise_of(values), len(values))


def median_series(series: Sequence[Sequence[float]]) -> list[float]:
    """Point by point; runs of another length than the first are left out."""
    return [median(point) for point in zip(*(s for s in series if len(s) == len(series[0])), strict=True)]


def are_equal(a: Summary, b: Summary, floor: float) -> bool:
    """True where the difference may be noise: inside the spread, or what halves of the runs show."""
    return verdict.by_noise(a.as_figure(), b.as_figure(), floor=floor).side == verdict.SAME


def ranks(summaries: Mapping[str, Summary], better: Better, floor: float) -> dict[str, int]:
    """1 for the best and everything equal to it, and so on; best first."""
    order = sorted(summaries, key=lambda name: summaries[name].median, reverse=better == "higher")
    found: dict[str, int] = {}
    leader = ""
    rank = 0
    for name in order:
        if not leader or not are_equal(summaries[leader], summaries[name], floor):
            leader = name
            rank = len(found) + 1
        found[name] = rank
    return found


def marked(ranks: Mapping[str, int], runs: Mapping[str, int]) -> frozenset[str]:
    """What may be called best: rank 1, where something ranks behind it, and only from two runs of each on.

    The one rule for every table, page and sentence: without evidence nothing is best.
    """
    if min((runs[name] for name in ranks), default=0) < 2 or set(ranks.values()) <= {1}:
        return frozenset()
    return frozenset(name for name, rank in ranks.items() if rank == 1)


def best_with_evidence(summaries: Mapping[str, Summary], better: Better, floor: float) -> frozenset[str]:
    """The same from the summaries."""
    return marked(
        ranks(summaries, better, floor), {name: summary.runs for name, summary in summaries.items()}
    )
