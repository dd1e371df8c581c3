# SPDX-License-Identifier: MIT
"""Collisions and lost time, worked out by hand."""

import math
import os
import random
import threading
import time

import pytest
from counter_page_bytes import make_page, parse, put, table_at
from heapwright.live import contention, figures, rates, switches
from heapwright.live.document import describe_calls
from heapwright.live.outside import Courses
from heapwright.live.page import Calls, HeapFigures


def calls_with(
    waits: list[int], timed: int = 1000, preempted_ns: int = 0, other_ns: int = 0, threads: int = 2
) -> Calls:
    """64 times as many calls as are timed; half of these allocate."""
    page = make_page(1)
    at = table_at(0)
    put(page, "table", "threads_begun", threads, at)
    put(page, "table", "calls", timed * 32, at, index=0)
    put(page, "table", "calls", timed * 32, at, index=5)
    put(page, "table", "making", timed // 2, at)
    put(page, "table", "releasing", timed // 2, at)
    put(page, "table", "making_waits", sum(waits) + preempted_ns + other_ns, at, index=1)
    put(page, "table", "lock_waits", len(waits), at)
    put(page, "table", "lock_waits", sum(waits), at, index=1)
    for bin_index in {wait.bit_length() - 1 for wait in waits}:
        count = sum(wait.bit_length() - 1 == bin_index for wait in waits)
        put(page, "table", "lock_waits", count, at, index=2 + bin_index)
    put(page, "table", "preempted_waits", preempted_ns, at, index=1)
    calls = parse(bytes(page)).calls
    assert calls is not None
    return calls


def test_waits_are_weighed_and_told_apart() -> None:
    calls = calls_with([10_000] * 5 + [2_000_000], preempted_ns=300, other_ns=7)
    record = describe_calls(calls)["contention"]
    assert (record["collisions"], record["lost_ns"]) == (6 * 64, 64 * 2_050_000)
    assert (record["preempted_ns"], record["other_ns"]) == (300 * 64, 7 * 64)
    assert 0 < record["collisions_low"] < 6 * 64 < record["collisions_high"]
    assert 0 <= record["lost_low_ns"] < record["lost_ns"] < record["lost_high_ns"]


def test_few_timed_calls_tell_nothing() -> None:
    calls = calls_with([], timed=figures.LEAST_TIMED - 2)
    assert set(describe_calls(calls)["contention"].values()) == {None}
    assert contention.is_contended(calls, 1, calls, 1) is None
    assert set(contention.estimated_rates(calls, 1)) == {None}


def test_no_wait_seen_bounds_the_collisions_but_not_their_length() -> None:
    record = describe_calls(calls_with([]))["contention"]
    assert (record["collisions"], record["collisions_low"], record["lost_ns"]) == (0, 0, 0)
    assert record["collisions_high"] == pytest.approx(3.69 * 64 * 1.5, rel=0.01)
    assert record["lost_high_ns"] is None


def test_the_interval_of_a_count_holds_the_mean_as_often_as_it_says() -> None:
    chance = random.Random(3)
    for mean in (0.5, 4.0, 40.0):
        hits = 0
        for _ in range(1000):
            low, high = contention.poisson_interval(_poisson(chance, mean))
            hits += low <= mean <= high
        assert hits >= 940, mean


def _poisson(chance: random.Random, mean: float) -> int:
    count, product = 0, chance.random()
    while product > math.exp(-mean):
        count, product = count + 1, product * chance.random()
    return count


def test_a_quiet_look_does_not_hide_what_its_whole_life_says() -> None:
    """Ten collisions in 10 s: one is to be expected within a second, and none says nothing."""
    ever = calls_with([3_000_000] * 10, timed=10_000)
    assert contention.is_contended(calls_with([]), 1, ever, 10) is True
    assert contention.is_contended(calls_with([3_000_000] * 2), 1, ever, 10) is True


def test_what_has_changed_is_no_longer_contended() -> None:
    """Of 100 collisions in 10 s ten are to be expected within a second."""
    ever = calls_with([3_000_000] * 100, timed=10_000)
    assert contention.is_contended(calls_with([]), 1, ever, 10) is None, "it may come in bursts"
    assert contention.is_contended(calls_with([]), 1, ever, 10, contention.Waits(0.0)) is False


def test_short_waits_are_no_contention() -> None:
    calls = calls_with([1_000] * 10)
    assert contention.is_contended(calls, 1, calls, 1) is False


@pytest.mark.parametrize("waits", [[], [3_000_000]])
def test_where_few_calls_were_timed_waits_may_have_been_missed(waits: list[int]) -> None:
    """Of no wait in 1,000 timed calls, 354 collisions are possible; after an hour they do not matter."""
    calls = calls_with(waits)
    assert contention.is_contended(calls, 1, calls, 1) is None
    assert contention.is_contended(calls, 3600, calls, 3600) is False


@pytest.mark.parametrize("waits", [[], [3_000_000]])
def test_one_thread_has_nobody_to_wait_for(waits: list[int]) -> None:
    calls = calls_with(waits, threads=1)
    assert contention.is_contended(calls, 1, calls, 1) is False


def test_what_the_kernel_counts_bounds_what_was_lost() -> None:
    lately, ever = calls_with([]), calls_with([], timed=3000)
    for lost_ns_per_s, verdict in ((0.0, False), (900_000.0, False), (1_100_000.0, None), (None, None)):
        waits = contention.Waits(lost_ns_per_s)
        assert contention.is_contended(lately, 1, ever, 3, waits) is verdict


def test_beside_other_work_a_wait_may_have_been_longer() -> None:
    """354 collisions in 100 s are possible: 0.35 ms per second, or 35."""
    calls = calls_with([])
    assert contention.is_contended(calls, 100, calls, 100) is False
    assert contention.is_contended(calls, 100, calls, 100, contention.Waits(None, 10_000_000)) is None
    preempted = calls._replace(making=calls.making._replace(waited_calls=2, waited_ns=20_000_000))
    assert contention.is_contended(preempted, 100, preempted, 100) is None


def test_a_thread_that_never_slept_or_only_slept_waited_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thread 8 slept for 0.6 s of a second in 10 turns, and was ready 10 ms before each."""
    image, calls = (7, 0), calls_with([])._replace(started_ns=0)
    thread = switches.Thread
    looks = [
        {7: thread(5, 0, 0, 9), 8: thread(0, 0, 0, 1), 9: thread(0, 0, 0, 1)},
        {7: thread(5, 0, 0, 9), 8: thread(10, 3 * 10**8, 10**8, 11), 9: thread(0, 9 * 10**8, 10**8, 50)},
        {7: thread(6, 0, 0, 10), 8: thread(11, 3 * 10**8, 10**8, 12)},
        None,
    ]
    monkeypatch.setattr(switches, "threads_of", lambda _: looks.pop(0))
    of_last, of_all = switches.SwitchLooks(), switches.SwitchLooks(keeps=True)
    found = []
    for second in range(1, 5):
        looks.insert(0, looks[0])  # both look
        for one in (of_last, of_all):
            one.look(second * 10**9, {image: calls})
        found.append((of_last.of(*image).lost_ns_per_s, of_all.of(*image).lost_ns_per_s))
    nothing = contention.NO_WAITS.lost_ns_per_s
    assert found == [(nothing, nothing), (7e8, 7e8), (nothing, 7e8), (nothing, 7e8)]
    of_last.look(5 * 10**9, {image: calls_with([], threads=1)._replace(started_ns=0)})
    assert of_last.of(*image) == contention.NO_WAITS, "the timed calls tell enough: nobody asks"


def test_threads_that_run_by_turns_tell_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside much other work what would collide alone does not: that is no proof."""
    image, calls = (7, 0), calls_with([])._replace(started_ns=0)
    for queued_ns, lost_ns_per_s in ((2 * 10**8, 0.0), (3 * 10**8, None)):
        looks = iter([(0, 0, 0, 0), (0, 10**9, queued_ns, 10)])
        monkeypatch.setattr(switches, "threads_of", lambda _: {7: switches.Thread(*next(looks))})  # noqa: B023
        one = switches.SwitchLooks()
        one.look(10**9, {image: calls})
        one.look(2 * 10**9, {image: calls})
        assert one.of(*image) == (lost_ns_per_s, queued_ns / 10)


def test_threads_that_lose_processors_often_and_never_wait_hold_no_lock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """1,000 turns a second of two threads: of 4,000, no wait is at most 3.7 in 4,000. Then locks are held."""
    image, calls = (7, 0), calls_with([])._replace(started_ns=0)
    switched = (0, 0, 0, 0, 0, 0, 1, 30, 0, 0)
    seconds = iter(range(len(switched)))

    def threads_of(_: int) -> dict[int, switches.Thread]:
        second = next(seconds)
        waits = sum(switched[: second + 1])
        one = switches.Thread(0, second * 10**8, second * 9 * 10**8, second * 500)
        return {7: one, 8: one._replace(switches=waits)}

    monkeypatch.setattr(switches, "threads_of", threads_of)
    one, found = switches.SwitchLooks(), []
    for second in range(len(switched)):
        one.look((second + 1) * 10**9, {image: calls})
        found.append(one.of(*image).lost_ns_per_s)
    # A switch costs the time in the queue, 1.8 ms a turn; with 31 in 7,000 turns nothing is known any more.
    assert found == [None, None, None, None, 0, 0, 1_800_000, None, None, None]


def test_a_process_without_a_thread_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel still has its folder, and no thread in it."""
    image, calls = (7, 0), calls_with([])._replace(started_ns=0)
    monkeypatch.setattr(switches, "threads_of", lambda _: {})
    one = switches.SwitchLooks()
    one.look(10**9, {image: calls})
    one.look(2 * 10**9, {image: calls})
    assert one.of(*image) == (0.0, 0.0)


def test_the_kernel_counts_this_processs_switches() -> None:
    before = switches.threads_of(os.getpid())
    for _ in range(20):
        time.sleep(0.001)
    after = switches.threads_of(os.getpid())
    assert before is not None
    assert after is not None
    own = threading.get_native_id()
    assert after[own].switches - before[own].switches >= 20
    assert after[own].running_ns > before[own].running_ns
    assert switches.threads_of(1 << 30) is None


def test_what_our_heap_counts_decides() -> None:
    none, some = HeapFigures(5, 50, 1, 1, 1, 1, 1), HeapFigures(7, 50 + 2_000_000, 1, 1, 1, 1, 1)
    assert contention.is_contended_as_counted(none, some, 1) is True
    assert contention.is_contended_as_counted(none, some, 3) is False
    assert contention.is_contended_as_counted(None, some, 1) is True
    record = describe_calls(calls_with([10_000]), True, some)["contention"]
    assert (record["collisions"], record["collisions_high"], record["lost_ns"]) == (7, 7, 2_000_050)
    assert record["is_contended"] is True


def test_waits_that_were_sought_decide_but_are_no_estimate() -> None:
    """They are likely where they are looked for: what they lost is lost, and no more is said of it."""
    calls = calls_with([])._replace(sought_calls=2, sought_ns=2_000_000)
    assert contention.is_contended(calls, 1, calls, 1) is True
    assert contention.is_contended(calls, 3, calls, 3) is None
    assert describe_calls(calls)["contention"]["collisions"] == 0


def test_preemption_is_no_contention() -> None:
    calls = calls_with([], preempted_ns=10**9)
    assert contention.is_contended(calls, 1, calls, 1, contention.Waits(0.0)) is False
    assert contention.estimated_rates(calls, 2).preempted_ns_per_s == 32 * 10**9


def test_what_our_heap_counts_itself_is_told_instead_of_an_estimate() -> None:
    own = os.getpid()

    def reading(time_ns: int, contended: int, calls: Calls) -> rates.Reading:
        heap = HeapFigures(contended, contended * 1000, 1, 1, 1, 1, 1)
        return rates.Reading(time_ns, {own: calls}, {own: heap}, {own: "x"}, {own: (1, 0)})

    calls = calls_with([3_000_000] * 10)
    (row,) = rates.rows(reading(10**9, 100, calls), reading(3 * 10**9, 150, calls), "process", Courses())
    assert (row["collisions_per_s"], row["collisions_low_per_s"], row["collisions_high_per_s"]) == (
        25,
        25,
        25,
    )
    assert (row["lost_ns_per_s"], row["contended_per_s"]) == (25_000, 25)
    assert row["live_bytes"] is not None


def test_sums_of_waits_never_fall() -> None:
    more, less = calls_with([5_000, 9_000]), calls_with([5_000])
    assert figures.runs_backwards(figures.difference(more, less))
    assert figures.difference(less, more).lock_waits[:2] == (1, 9_000)
    assert figures.total([more, less]).lock_waits.calls == 3
