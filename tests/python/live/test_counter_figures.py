# SPDX-License-Identifier: MIT
"""Figures worked out by hand."""

import os
import random

import pytest
from counter_page_bytes import make_page, parse, put, table_at, with_contexts
from heapwright.live import figures, rates
from heapwright.live.document import describe_calls
from heapwright.live.layout import BIN_COUNT, CONSTANTS, FIELDS
from heapwright.live.outside import Courses
from heapwright.live.page import Calls, HeapFigures, Timings
from heapwright.model.native import counters_bin_of

CLOCK_NS = 20


def timings(values: list[int], slow_from: int = 20_000) -> Timings:
    bins = [0] * BIN_COUNT
    for value in values:
        bins[counters_bin_of(value)] += 1
    slow = [value for value in values if value >= slow_from]
    return Timings(len(values), sum(values), len(slow), sum(slow), tuple(bins), 0, 0)


def test_few_timed_calls_say_nothing() -> None:
    record = figures.estimate(timings([10] * (figures.LEAST_TIMED - 1)), 5000, CLOCK_NS)
    assert record["calls"] == 5000
    assert record["mean_ns"] is record["time_ns"] is record["p50_ns"] is None


def test_the_whole_is_estimated_by_weight() -> None:
    record = figures.estimate(timings([20] * 90 + [30_000] * 10), 6400, CLOCK_NS)
    assert record["mean_ns"] == pytest.approx(3018)
    assert record["time_ns"] == 3018 * 6400
    assert (record["slow_calls"], record["slow_ns"]) == (640, 30_000 * 10 * 64)
    assert record["p50_ns"] == 23  # of the bin 20 to 23
    assert record["p99_ns"] is None


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    chance = random.Random(5)
    times = [round(chance.lognormvariate(3.5, 1.0)) for _ in range(64_000)]
    hits = 0
    for _ in range(200):
        record = figures.estimate(timings(chance.sample(times, 1000)), len(times), 0)
        hits += abs(record["time_ns"] - sum(times)) <= record["time_error_ns"]
    assert 180 <= hits <= 200


def test_few_long_calls_widen_the_interval() -> None:
    """One call in 2,000 takes nearly all of the time: by luck none was timed, or several."""
    chance = random.Random(7)
    hits = 0
    for _ in range(200):
        times = [200_000 if chance.random() < 1 / 2000 else 100 for _ in range(8000)]
        record = figures.estimate(timings(times), len(times), 0)
        hits += abs(record["mean_ns"] - (100 + 199_900 / 2000)) <= record["time_error_ns"] / len(times)
    assert hits >= 190


def test_short_calls_are_known_to_a_reading_of_the_clock() -> None:
    record = figures.estimate(timings([10] * 10_000), 10_000, CLOCK_NS)
    assert record["time_error_ns"] == pytest.approx(CLOCK_NS * 10_000, rel=0.1)


def test_waits_are_weighed_like_calls() -> None:
    record = figures.estimate(timings([20] * 100)._replace(waited_calls=3, waited_ns=5000), 6400, CLOCK_NS)
    assert (record["waited_calls"], record["waited_ns"]) == (192, 320_000)


def test_percentiles_are_the_upper_edge_of_their_bin() -> None:
    bins = [0] * BIN_COUNT
    bins[counters_bin_of(100)] = 990
    bins[counters_bin_of(5000)] = 10
    assert figures.percentile(bins, 0.5) == 111
    assert figures.percentile(bins, 0.99) == 111
    bins[counters_bin_of(5000)] = 11
    assert figures.percentile(bins, 0.99) == 5119
    assert figures.percentile(bins, 0.999) is None


def calls_with(**values: int) -> Calls:
    page = make_page(1)
    for name, value in values.items():
        put(page, "table", name, value, table_at(0))
    calls = parse(bytes(page)).calls
    assert calls is not None
    return calls


def test_reallocs_make_and_release_blocks_only_where_they_do() -> None:
    calls = calls_with(realloc_made=5, realloc_released=2, usable_bytes=1000, released_bytes=400)
    assert (figures.live_blocks(calls), figures.live_bytes(calls)) == (3, 600)


def test_a_difference_is_of_sums_alone() -> None:
    earlier, later = calls_with(requested_bytes=100), calls_with(requested_bytes=350, threads_begun=2)
    lately = figures.difference(earlier, later)
    assert (lately.requested_bytes, lately.threads_begun) == (250, 2)
    assert lately.mean_stride == later.mean_stride == 64


def test_a_program_is_the_sum_of_its_images() -> None:
    """All but what a page says of itself; the interval is that of all timed calls together."""
    fast, slow = timings([20] * 20), timings([400] * 20)
    some = calls_with(requested_bytes=100, realloc_made=3, failed=1)._replace(making=fast, releasing=slow)
    more = calls_with(requested_bytes=350, threads_begun=2)._replace(making=slow, clock_ns=9)
    whole = figures.total([some, more])
    assert figures.difference(some, whole)._replace(clock_ns=9) == more._replace(allocator=some.allocator)
    assert figures.difference(more, whole).requested_bytes == 100
    assert (whole.making.calls, whole.making.ns, sum(whole.making.bins)) == (40, 8400, 40)
    assert whole.clock_ns == 9
    assert figures.total([some]) == some
    unknown = figures.total([more, some._replace(has_unknown_usable=True)])
    assert figures.live_bytes(unknown) is None


def test_a_page_that_runs_backwards_has_no_rates() -> None:
    def reading(time_ns: int, **values: int) -> rates.Reading:
        own = os.getpid()
        return rates.Reading(time_ns, {own: calls_with(**values)}, {}, {own: "x"}, {own: (1, 0)})

    earlier = reading(10**9, requested_bytes=500, failed=3)
    forward = reading(2 * 10**9, requested_bytes=700, failed=3)
    backward = reading(2 * 10**9, requested_bytes=700, failed=2)
    assert rates.running_backwards(earlier, forward) == []
    assert rates.rows(earlier, forward, "process", Courses())[0]["requested_bytes_per_s"] == 200
    assert rates.running_backwards(earlier, backward) == [os.getpid()]
    assert rates.rows(earlier, backward, "process", Courses())[0]["requested_bytes_per_s"] is None


def test_half_written_sums_make_no_rate_and_are_named() -> None:
    own = os.getpid()

    def reading(time_ns: int, remote_frees: int | None) -> rates.Reading:
        heap = HeapFigures(1, 1, 1, 1, 1, 1, remote_frees)
        return rates.Reading(time_ns, {}, {own: heap}, {own: "x"}, {own: (1, 0)})

    earlier, later, half = reading(10**9, 5), reading(3 * 10**9, 25), reading(3 * 10**9, None)
    (row,) = rates.rows(earlier, later, "process", Courses())
    assert (row["remote_frees_per_s"], row["contended_per_s"]) == (10, 0)
    (row,) = rates.rows(earlier, half, "process", Courses())
    assert (row["remote_frees_per_s"], row["contended_per_s"]) == (None, 0)
    assert (rates.unsettled(later), rates.unsettled(half)) == ([], [own])
    assert rates.running_backwards(later, earlier) == [own]
    assert rates.running_backwards(later, half) == []


def test_sizes_are_told_by_octave() -> None:
    sizes = [0] * BIN_COUNT
    for size in (0, 3, 4, 7, 8, 100, 127, 128):
        sizes[counters_bin_of(size)] += 1
    assert figures.size_rows(sizes) == [
        {"from_bytes": 0, "to_bytes": 3, "requests": 2},
        {"from_bytes": 4, "to_bytes": 7, "requests": 2},
        {"from_bytes": 8, "to_bytes": 15, "requests": 1},
        {"from_bytes": 64, "to_bytes": 127, "requests": 2},
        {"from_bytes": 128, "to_bytes": 255, "requests": 1},
    ]


def test_unknown_usable_sizes_are_unknown() -> None:
    page = make_page(1)
    put(page, "calls", "flags", CONSTANTS["has_unknown_usable"], CONSTANTS["head_bytes"])
    calls = parse(bytes(page)).calls
    assert calls is not None
    assert figures.live_bytes(calls) is None
    assert describe_calls(calls)["usable_bytes"] is None


def test_contexts_by_bytes_and_what_is_in_none() -> None:
    data = make_page(1)
    for index, calls in ((0, 10), (5, 4)):
        put(data, "table", "calls", calls, table_at(0), index)
    for field, value in (("requested_bytes", 1000), ("usable_bytes", 1200), ("released_bytes", 500)):
        put(data, "table", field, value, table_at(0))
    put(data, "timings", "calls", 40, table_at(0) + FIELDS["table"]["making"][0])
    put(data, "timings", "ns", 4000, table_at(0) + FIELDS["table"]["making"][0])
    named = {
        b"job": (3, 2, 90, 96, 1, 50, 400),
        b"cart": (7, 5, 600, 700, 35, 700, 64),
        b"idle": (0, 0, 0, 0, 0, 0, 0),
    }
    calls = parse(bytes(with_contexts(data, named))).calls
    assert calls is not None
    rows = [tuple(row.values()) for row in figures.context_rows(calls)]
    assert rows == [
        ("cart", 7, 5, 600, 700, 636, 35, 140),
        ("job", 3, 2, 90, 96, -304, 1, None),
        ("", 4, 3, 310, 404, 368, 4, None),
    ]
    twice = figures.total([calls, calls._replace(contexts={"job": calls.contexts["job"]})])
    assert twice.contexts["job"].requested_bytes == 180
    assert twice.contexts["cart"].requested_bytes == 600
    assert figures.runs_backwards(figures.difference(twice, calls))
    assert not figures.runs_backwards(figures.difference(calls, twice))
    assert figures.context_rows(calls._replace(contexts={})) == []
