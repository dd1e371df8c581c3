# SPDX-License-Identifier: MIT
"""What counts as a difference: by hand, and how often two equal sides are called different (A against A)."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from heapwright.compare.noise import LESS, MORE, SAME, SITE_BANDS, UNKNOWN, compare, false_alarms_at_most

Draw = Callable[[random.Random], float]


def calm(draw: random.Random) -> float:
    return draw.gauss(100, 1)


def with_outliers(draw: random.Random) -> float:
    return 100 + abs(draw.gauss(0, 1)) + (draw.expovariate(0.1) if draw.random() < 0.1 else 0)


def of_two_kinds(draw: random.Random) -> float:
    return draw.gauss(105 if draw.random() < 0.3 else 100, 0.1)


def alarms(kind: Draw, runs: int, bands: int = 1, trials: int = 3000) -> float:
    draw = random.Random(runs)
    found = 0
    for _ in range(trials):
        a, b = ([kind(draw) for _ in range(runs)] for _ in range(2))
        found += compare(a, b, False, bands).verdict != SAME
    return found / trials


@pytest.mark.parametrize("kind", [calm, with_outliers, of_two_kinds])
@pytest.mark.parametrize("runs", [3, 5])
def test_chance_is_called_a_difference_no_more_often_than_promised(kind: Draw, runs: int) -> None:
    assert alarms(kind, runs) <= false_alarms_at_most(runs, runs)


@pytest.mark.parametrize("kind", [calm, with_outliers, of_two_kinds])
def test_of_many_sites_few_are_called_different_by_chance(kind: Draw) -> None:
    """200 sites: less than one in a comparison."""
    assert 200 * alarms(kind, 5, SITE_BANDS) < 0.5


RECORDED = json.loads((Path(__file__).parent / "equal_runs.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("figure", ["resident_peak_bytes", "resident_end_bytes", "time_ns", "p99_ns"])
def test_recordings_of_one_program_beside_each_other(figure: str) -> None:
    """Five of them against five others."""
    draw = random.Random(1)
    different = 0
    for _ in range(2000):
        ten = draw.sample(RECORDED[figure], 10)
        different += compare(ten[:5], ten[5:], False).verdict != SAME
    assert different / 2000 <= false_alarms_at_most(5, 5)


def test_a_shift_of_five_deviations_is_found() -> None:
    draw = random.Random(7)
    found = [
        compare([draw.gauss(100, 1) for _ in range(5)], [draw.gauss(105, 1) for _ in range(5)], False).verdict
        for _ in range(200)
    ]
    assert found.count(MORE) >= 180
    assert LESS not in found


@pytest.mark.parametrize(
    ("a", "b", "verdict", "band"),
    [
        ([10, 11, 12], [20, 21, 22], MORE, 2),
        ([20, 21, 22], [10, 11, 12], LESS, 2),
        ([10, 11, 16], [17, 17, 17], SAME, 6),  # apart, but no further than A's runs are
        ([10, 10, 30], [29, 29, 29], SAME, 20),  # one run of A among B's
        ([10, 11, 12], [10, 11, 12], SAME, 2),
    ],
)
def test_noisy_figures(a: list[float], b: list[float], verdict: str, band: float) -> None:
    found = compare(a, b, False)
    assert (found.verdict, found.band) == (verdict, band)


def test_fewer_than_three_runs_tell_nothing_of_noise() -> None:
    found = compare([10, 10], [90, 90], False)
    assert (found.verdict, found.band, found.difference) == (UNKNOWN, None, 80)
    assert compare([10], [10], False).verdict == SAME


def test_exact_figures_differ_by_one() -> None:
    assert compare([10], [11], True).verdict == MORE
    assert compare([10, 10, 10], [9, 9, 9], True).verdict == LESS
    assert compare([10, 12], [11, 11], True).verdict == SAME  # it is not exact after all
    assert compare([0], [5], True).relative is None
