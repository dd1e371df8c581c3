# SPDX-License-Identifier: MIT
"""The error of a replay, worked out by hand."""

from __future__ import annotations

from dataclasses import astuple

import pytest
from heapwright.replay import fidelity
from heapwright.replay.result import Curve

MIB = 1 << 20
TIMES = [0, 10, 20, 30]


def test_memory_beside_the_heap_is_no_error() -> None:
    recorded = [5 * MIB, 25 * MIB, 45 * MIB, 15 * MIB]
    truth = fidelity.compare(TIMES, recorded, [value - 5 * MIB for value in recorded])
    assert truth is not None
    assert truth.beside_heap_bytes == 5 * MIB
    assert truth.errors == Curve(0, 0, 0)
    assert truth.recorded == Curve(45 * MIB, 25 * MIB, 15 * MIB)


def test_each_error_is_that_of_its_figure() -> None:
    truth = fidelity.compare(TIMES, [1 * MIB, 9 * MIB, 5 * MIB, 2 * MIB], [0, 9 * MIB, 4 * MIB, 5 * MIB])
    assert truth is not None
    assert astuple(truth.errors) == pytest.approx((1 * MIB, MIB / 3, 4 * MIB))
    assert truth.relative_peak == 1 / 9


def test_what_the_program_never_touched_is_an_error_even_from_the_start() -> None:
    truth = fidelity.compare(TIMES, [10 * MIB] * 4, [40 * MIB] * 4)
    assert truth is not None
    assert truth.errors.peak_bytes == 30 * MIB - (256 << 10)


def test_without_readings_nothing_is_known() -> None:
    assert fidelity.compare([], [], []) is None
    assert fidelity.compare([1.0], [0.0], [5.0]) is None


def test_one_reading_just_before_the_memory_went_is_an_error_of_that_mark_alone() -> None:
    recorded = [2.0, 3.0, 50.0, 102.0, 102.0, 102.0]
    replayed = [0.0, 1.0, 48.0, 100.0, 100.0, 0.0]
    truth = fidelity.compare(range(6), [MIB * one for one in recorded], [MIB * one for one in replayed])
    assert truth is not None
    assert truth.beside_heap_bytes == 2 * MIB
    assert truth.errors.peak_bytes == 0
    assert truth.errors.end_bytes == 100 * MIB
