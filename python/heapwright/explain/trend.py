# SPDX-License-Identifier: MIT
"""Does a series of equally spaced figures grow? Robust, and valid for autocorrelated figures.

What a site holds is not independent noise: a long-lived block is in every
figure of its life. So growth is called certain only against one of two models
of a load that does not grow:

- autocorrelated noise: Theil and Sen's slope (Sen, "Estimates
  of the regression coefficient based on Kendall's tau", 1968) with the
  interval of a line through figures whose residuals are correlated (Santer et
  al., "Statistical significance of trends and trend differences in
  layer-average atmospheric temperature time series", 2000);
- a random walk: Wilcoxon's signed ranks of its steps ("Individual comparisons
  by ranking methods", 1945), of which as many and as large ones go down as up.

  docs/decisions/0012-growth.md explains the choice; bench/growth/ measures the error rates.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from statistics import median, stdev
from typing import NamedTuple

_BLOCKS = 32  # a series is reduced to this many medians
# Standard deviations of the normal distribution. SURE is strict because a program has many sites.
_INTERVAL = 1.96
_SURE = 4.0
_SURE_STEPS = 3.7
_LEAST_FREEDOM = 4.0


class Slope(NamedTuple):
    """Growth per figure, with its 95 % interval (± half_width); is_sure: it certainly grows (or shrinks)."""

    each: float
    half_width: float
    is_sure: bool


def blocks(values: Sequence[float], number: int = _BLOCKS) -> list[float]:
    """Medians of equal parts: events within a part, such as a spike or a request, do not count.

    >>> blocks([1, 1, 90, 2, 2, 2], 2)
    [1, 2]
    """
    size = len(values)
    number = min(number, size)
    return [median(values[part * size // number : (part + 1) * size // number]) for part in range(number)]


def slope(values: Sequence[float]) -> Slope:
    """The trend of these figures. Cost: about a thousand operations, on their blocks."""
    points = blocks(values)
    if len(points) < 3:
        return Slope(0.0, math.inf, False)
    each = _theil_sen(points)
    half_width, is_off_zero = _interval(points, each)
    scale = len(points) / len(values)
    is_sure = is_off_zero or _walks(points, 1 if each > 0 else -1)
    return Slope(each * scale, half_width * scale, each != 0 and is_sure)


def _theil_sen(points: Sequence[float]) -> float:
    """The median of the slopes between any two."""
    return median(
        (after - before) / (second - first)
        for first, before in enumerate(points)
        for second, after in enumerate(points[first + 1 :], first + 1)
    )


def _interval(points: Sequence[float], each: float) -> tuple[float, bool]:
    """Half the slope's interval, and whether zero is far outside.

    If the residuals are too autocorrelated, the wider interval of a random walk's mean step.
    """
    number = len(points)
    rest = [point - each * place for place, point in enumerate(points)]
    middle = median(rest)
    rest = [value - middle for value in rest]
    square = math.fsum(value * value for value in rest)
    if square <= 1e-18 * max(abs(point) for point in points) ** 2:
        return 0.0, each != 0
    effective = _independent(rest)
    freedom = effective - 2
    if freedom < _LEAST_FREEDOM:
        return _INTERVAL * _walk_deviation(points), False
    width = math.sqrt(square / freedom / (number * (number**2 - 1) / 12))
    return width * _student(freedom, _INTERVAL), abs(each) > width * _student(freedom, _SURE)


def _independent(rest: Sequence[float], lines: int = 1) -> float:
    """The effective number of independent figures in these autocorrelated residuals."""
    square = math.fsum(value * value for value in rest)
    if square <= 0:
        return float(len(rest))
    correlation = sum(a * b for a, b in itertools.pairwise(rest)) / square
    # The estimate is too low in short series (Kendall, "Note on bias in the estimation of
    # autocorrelation", 1954).
    correlation = max(0.0, correlation + lines * (1 + 4 * correlation) / len(rest))
    return len(rest) * (1 - correlation) / (1 + correlation)


def _walk_deviation(points: Sequence[float]) -> float:
    """Interval of the mean step; steps of medians of a walk have a correlation of 1/4 (Working 1960)."""
    steps = [after - before for before, after in itertools.pairwise(points)]
    return stdev(steps) * math.sqrt(1.5 / len(steps))


def _student(freedom: float, normal: float) -> float:
    """Student's quantile from the normal one (Abramowitz and Stegun 26.7.5)."""
    terms = (
        (normal**3 + normal) / 4,
        (5 * normal**5 + 16 * normal**3 + 3 * normal) / 96,
        (3 * normal**7 + 19 * normal**5 + 17 * normal**3 - 15 * normal) / 384,
    )
    return normal + sum(term / freedom ** (power + 1) for power, term in enumerate(terms))


def _walks(points: Sequence[float], sign: int) -> bool:
    """Whether its steps go one way, unlike a random walk."""
    steps = [sign * (after - before) for before, after in itertools.pairwise(points)]
    steps = sorted((step for step in steps if step), key=abs)
    number = len(steps)
    if not number:
        return False
    ranks = sum(rank for rank, step in enumerate(steps, 1) if step > 0)
    mean, variance = number * (number + 1) / 4, number * (number + 1) * (2 * number + 1) / 24
    return ranks - mean > _SURE_STEPS * math.sqrt(variance)


_PLACES = 64  # candidates for a change
_LEAST_AFTER = 16  # of these
_LEAST_BEFORE = 4
_MUCH_BETTER = 8.0  # F of two lines against one, the place chosen (Andrews 1993)


def changes(values: Sequence[float]) -> list[int]:
    """Where the rest starts to be one straight line: 0, then each change of level or slope.

    At least a quarter of the figures come after it.
    """
    most = max(values, default=0) or 1
    points = [point / most for point in blocks(values, _PLACES)]
    found = [0]
    while place := _change(points, found[-1]):
        found.append(place)
    return [place * len(values) // max(1, len(points)) for place in found]


def _change(points: Sequence[float], begin: int) -> int:
    """The place where two lines fit best, 0 if one fits about as well."""
    places = range(begin + _LEAST_BEFORE, len(points) - _LEAST_AFTER + 1)
    if not places:
        return 0
    sums = _sums(points)
    whole = _misfit(sums, begin, len(points))
    best = min(places, key=lambda at: _misfit(sums, begin, at) + _misfit(sums, at, len(points)))
    parts = _misfit(sums, begin, best) + _misfit(sums, best, len(points))
    if whole <= 1e-9:
        return 0
    rest = [*_off_line(points[begin:best]), *_off_line(points[best:])]
    freedom = max(1.0, _independent(rest, 2) - 5)
    return best if (whole - parts) / 3 > _MUCH_BETTER * parts / freedom else 0


def _off_line(points: Sequence[float]) -> list[float]:
    """The residuals of the least-squares line."""
    middle = (len(points) - 1) / 2
    level = math.fsum(points) / len(points)
    spread = math.fsum((place - middle) ** 2 for place in range(len(points))) or 1.0
    lean = math.fsum((place - middle) * point for place, point in enumerate(points)) / spread
    return [point - level - lean * (place - middle) for place, point in enumerate(points)]


def _sums(points: Sequence[float]) -> tuple[list[float], list[float], list[float]]:
    ones, firsts, squares = [0.0], [0.0], [0.0]
    for place, point in enumerate(points):
        ones.append(ones[-1] + point)
        firsts.append(firsts[-1] + place * point)
        squares.append(squares[-1] + point * point)
    return ones, firsts, squares


def _misfit(sums: tuple[list[float], list[float], list[float]], begin: int, end: int) -> float:
    """The sum of squares around the best line through points[begin:end]."""
    number = end - begin
    if number < 3:
        return 0.0
    total, first, square = (of[end] - of[begin] for of in sums)
    middle = (begin + end - 1) / 2
    spread = number * (number**2 - 1) / 12
    lean = first - middle * total
    return max(0.0, square - total * total / number - lean * lean / spread)


_HIGH, _LOW = 0.75, 0.25  # of the range: a wave must cross both


def winding(values: Sequence[float], waves: int) -> float:
    """The total movement relative to that many straight waves: 1 for a sawtooth, more if it fluctuates."""
    order = sorted(values)
    depth = order[-1 - len(order) // 20] - order[len(order) // 20]
    way = sum(abs(after - before) for before, after in itertools.pairwise(values))
    return way / (2 * depth * waves) if depth and waves else math.inf


def troughs(values: Sequence[float]) -> list[int]:
    """The index of the lowest figure of each fall from the upper to the lower quarter of the range.

    >>> troughs([0, 5, 9, 1, 0, 6, 9, 0, 4])
    [4, 7]
    """
    if len(values) < 4:
        return []
    order = sorted(values)
    low, high = order[len(order) // 20], order[-1 - len(order) // 20]
    found: list[int] = []
    is_up = False
    for place, value in enumerate(values):
        if value >= low + _HIGH * (high - low) and high > low:
            is_up = True
        elif value <= low + _LOW * (high - low) and is_up:
            found.append(place)
            is_up = False
        elif found and not is_up and value < values[found[-1]]:
            found[-1] = place
    return found
