# SPDX-License-Identifier: MIT
"""Medians, noise and ranks."""

from __future__ import annotations

from heapwright.measure.statistics import (
    Summary,
    are_equal,
    best_with_evidence,
    median_series,
    noise_of,
    ranks,
    relative_difference,
    summarize,
)
from hypothesis import given
from hypothesis import strategies as st


def exact(value: float) -> Summary:
    return Summary(value, 0.0, value, value, 0.0)


def test_one_outlier_moves_neither_median_nor_spread() -> None:
    found = summarize([10, 11, 12, 9, 500])
    assert (found.median, found.spread, found.low, found.high) == (11, 1, 9, 500)


def test_equal_runs_have_no_noise_and_different_ones_have() -> None:
    assert noise_of([5, 5, 5, 5]) == 0
    assert noise_of([7]) == 0
    assert noise_of([10, 20]) == 0.5


def test_noise_shrinks_with_the_number_of_runs() -> None:
    values = [100, 110, 105, 95, 102, 108, 98, 104, 101, 99]
    assert 0 < noise_of(values) < noise_of(values[:4])


def test_what_differs_by_less_than_the_noise_shares_a_rank() -> None:
    found = ranks({"a": exact(100), "b": exact(103), "c": exact(200)}, "lower", 0.05)
    assert found == {"a": 1, "b": 1, "c": 3}


def test_without_noise_every_difference_counts() -> None:
    assert ranks({"a": exact(100), "b": exact(103)}, "lower", 0.0) == {"a": 1, "b": 2}


def test_higher_may_be_better() -> None:
    assert ranks({"slow": exact(1), "fast": exact(9)}, "higher", 0.1) == {"fast": 1, "slow": 2}


def test_an_allocators_own_noise_counts_as_well() -> None:
    steady, shaky = exact(100), Summary(130, 0, 130, 130, 0.4)
    assert are_equal(steady, shaky, 0.0)
    assert not are_equal(steady, exact(130), 0.0)


def test_a_difference_inside_the_spread_is_none() -> None:
    a, b = Summary(100, 4, 90, 110, 0.0, 5), Summary(107, 3, 99, 115, 0.0, 5)
    assert are_equal(a, b, 0.0)
    assert not are_equal(a, Summary(108, 3, 99, 115, 0.0, 5), 0.0)


def runs_of(*values: float) -> Summary:
    return summarize(values)


def test_one_run_makes_nothing_the_best() -> None:
    one = {"a": runs_of(100), "b": runs_of(200)}
    assert best_with_evidence(one, "lower", 0.0) == frozenset()
    mixed = {"a": runs_of(100, 101), "b": runs_of(200)}
    assert best_with_evidence(mixed, "lower", 0.0) == frozenset()
    two = {"a": runs_of(100, 101), "b": runs_of(200, 201)}
    assert best_with_evidence(two, "lower", 0.0) == {"a"}


def test_where_all_are_equal_nothing_is_the_best() -> None:
    close = {"a": runs_of(100, 104, 108), "b": runs_of(101, 105, 109)}
    assert best_with_evidence(close, "lower", 0.0) == frozenset()
    alone = {"a": runs_of(100, 101, 102)}
    assert best_with_evidence(alone, "lower", 0.0) == frozenset()
    third = {**close, "c": runs_of(300, 301, 302)}
    assert best_with_evidence(third, "lower", 0.0) == {"a", "b"}
    assert best_with_evidence(third, "higher", 0.0) == {"c"}


def test_series_are_taken_point_by_point() -> None:
    assert median_series([[1, 10], [2, 30], [9, 20]]) == [2, 20]
    assert median_series([[1, 10], [5]]) == [1, 10]


@given(st.lists(st.floats(0, 1e12), min_size=1, max_size=14))
def test_summaries_stay_within_their_values(values: list[float]) -> None:
    found = summarize(values)
    assert found.low <= found.median <= found.high
    assert 0 <= found.noise <= 1
    assert 0 <= found.spread <= found.high - found.low


@given(st.floats(0, 1e300), st.floats(0, 1e300))
def test_a_relative_difference_has_no_direction(a: float, b: float) -> None:
    assert relative_difference(a, b) == relative_difference(b, a)
    assert 0 <= relative_difference(a, b) <= 1
