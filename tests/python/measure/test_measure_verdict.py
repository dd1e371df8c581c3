# SPDX-License-Identifier: MIT
"""One engine says what differs: by the noise of runs, or by runs that do not overlap."""

from __future__ import annotations

import pytest
from heapwright.measure.statistics import summarize
from heapwright.measure.verdict import (
    BETTER,
    SAME,
    UNKNOWN,
    WORSE,
    Figure,
    Verdict,
    by_noise,
    by_runs,
    figure_of,
    side_of,
)

FAST, SLOW = [98.0, 100.0, 102.0], [118.0, 120.0, 124.0]


def test_a_difference_is_told_above_the_least_one() -> None:
    assert [side_of(value, 5.0) for value in (-5.1, -5.0, 0.0, 5.0, 5.1)] == [BETTER, SAME, SAME, SAME, WORSE]


def test_runs_that_do_not_overlap_differ_beyond_their_band() -> None:
    assert by_runs(figure_of(SLOW), figure_of(FAST)) == Verdict(WORSE, 6.0)
    assert by_runs(figure_of(FAST), figure_of(SLOW)) == Verdict(BETTER, 6.0)
    assert by_runs(figure_of(SLOW), figure_of(FAST), bands=4) == Verdict(SAME, 24.0)
    assert by_runs(figure_of(SLOW), figure_of(FAST), least=20.0) == Verdict(SAME, 20.0)
    assert by_runs(figure_of(SLOW), figure_of(FAST), least=19.9) == Verdict(WORSE, 19.9)


def test_one_run_between_those_of_the_other_side_is_enough_for_the_same() -> None:
    assert by_runs(figure_of([*SLOW, 102.0]), figure_of(FAST)).side == SAME
    assert by_runs(figure_of([*SLOW, 102.1]), figure_of(FAST)).side == SAME  # the band is 21.9 now
    assert by_runs(figure_of([130.0, 131.0, 129.0]), figure_of([100.0, 128.0, 101.0])).side == WORSE


def test_too_few_runs_tell_nothing() -> None:
    assert by_runs(figure_of(SLOW[:2]), figure_of(FAST)) == Verdict(UNKNOWN, None)
    assert by_runs(figure_of(SLOW[:1]), figure_of(FAST[:1]), least_runs=1) == Verdict(WORSE, 0.0)
    one = Figure(5.0, 5.0, 5.0, 1)
    assert by_noise(one, one, least=0.5, least_runs=2) == Verdict(UNKNOWN, 0.5)


@pytest.mark.parametrize(
    ("reference", "least", "floor", "expected"),
    [
        (Figure(90.0, 100.0, 110.0, 5, spread=5.0), 0.0, 0.0, Verdict(SAME, 20.0)),
        (Figure(90.0, 100.0, 110.0, 5, spread=4.9), 0.0, 0.0, Verdict(WORSE, 19.9)),
        (Figure(90.0, 100.0, 110.0, 5, noise=0.17), 0.0, 0.0, Verdict(SAME, 0.17 * 120)),
        (Figure(90.0, 100.0, 110.0, 5, noise=0.16), 0.0, 0.0, Verdict(WORSE, 0.16 * 120)),
        (Figure(90.0, 100.0, 110.0, 5), 0.0, 0.17, Verdict(SAME, 0.17 * 120)),
        (Figure(90.0, 100.0, 110.0, 5), 20.0, 0.0, Verdict(SAME, 20.0)),
    ],
)
def test_noise_is_the_spreads_or_the_share_that_halves_show(
    reference: Figure, least: float, floor: float, expected: Verdict
) -> None:
    own = Figure(110.0, 120.0, 130.0, 5, spread=15.0 if reference.spread else 0.0)
    assert by_noise(own, reference, least, floor=floor) == expected


def test_a_summary_is_a_figure_of_its_runs() -> None:
    found = summarize([1.0, 2.0, 3.0, 7.0]).as_figure()
    assert found[:4] == (1.0, 2.5, 7.0, 4)
    assert found.spread == 1.0  # of 1.5, 0.5, 0.5, 4.5
    assert found.noise > 0
