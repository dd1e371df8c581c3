# SPDX-License-Identifier: MIT
"""Figures as people read them."""

from __future__ import annotations

import doctest
import importlib

import pytest
from heapwright.report import units
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1000, "1000 B"), (1023, "1023 B"), (1024, "1.00 KiB"), (10_240, "10.0 KiB"), (2**20 - 1, "1.00 MiB"), (10_235, "10.0 KiB"), (102_300, "99.9 KiB"),
     (102_390, "100 KiB"),
     (2**40, "1.00 TiB"), (2**64 - 1, "16.0 EiB")],
)  # fmt: skip
def test_sizes(count: int, text: str) -> None:
    assert units.size(count) == text


@pytest.mark.parametrize(
    ("time_ns", "text"),
    [(0, "0 ns"), (999, "999 ns"), (1000, "1.00 µs"), (12_345_678, "12.3 ms"), (61 * 10**9, "61.0 s"),
     (9_996, "10.0 µs"), (99_960, "100 µs"), (999_600, "1.00 ms"), (9_994, "9.99 µs"),
     (125 * 10**9, "2 min 5 s")],
)  # fmt: skip
def test_durations(time_ns: int, text: str) -> None:
    assert units.duration(time_ns) == text


def test_figures_that_are_no_counts() -> None:
    values = {"ns": 47.684, "bytes": 8.25, "count": 2.5, "per_s": 23.66e6, "percent": 5.528, "share": 0.0553}
    assert [units.number(value, unit) for unit, value in values.items()] == [
        "47.7 ns", "8.25 B", "2.50", "23.7 M/s", "5.53 %", "5.5 %",
    ]  # fmt: skip
    assert [units.three_digits(value) for value in (9.994, 9.996, 99.96, 0.09996, 1234.5, 0)] == [
        "9.99", "10.0", "100", "0.100", "1,234", "0",
    ]  # fmt: skip


def test_a_share_of_nothing_is_no_number() -> None:
    assert units.percent(1, 0) == "–"
    assert units.percent(1, 10_000) == "<0.1 %"
    assert units.percent(0, 5) == "0.0 %"


@given(st.integers(0, 2**64 - 1))
def test_numbers_stay_short(number: int) -> None:
    assert len(units.size(number)) <= 9
    assert len(units.duration(number)) <= 20


@pytest.mark.parametrize(
    "module",
    [
        "report.units",
        "report.markdown",
        "explain.coverage",
        "explain.sizes",
        "terminal.sparkline",
        "model.names",
    ],
)
def test_examples_in_the_documentation(module: str) -> None:
    found = doctest.testmod(importlib.import_module(f"heapwright.{module}"))
    assert found.attempted > 0
    assert found.failed == 0
