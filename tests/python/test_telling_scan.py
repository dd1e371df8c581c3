# SPDX-License-Identifier: MIT
"""Which scan stands for the run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from heapwright.explain import teardown, telling_scan
from heapwright.model import KIND_NAMES
from heapwright.model.facts import Residency

MIB = 1 << 20
RUN_S = 13


def moment(resident: int, free: int, **flags: int) -> Residency:
    """Of MiB."""
    zeros = Residency(*([0] * len(Residency._fields)))
    return zeros._replace(resident_bytes=resident * MIB, free_page_bytes=free * MIB, **flags)


def told(moments: list[Residency], resident: list[tuple[int, int]], trims: int = 0) -> int:
    """resident: from which second on how many MiB were. trims: the program's own calls of malloc_trim."""
    zero = {"resident_shared_bytes": 0, "resident_file_bytes": 0}
    samples = [
        SimpleNamespace(time_ns=at * 10**9, resident_anonymous_bytes=size * MIB, **zero)
        for at, size in resident
    ]
    trace = SimpleNamespace(memory_samples=samples, end=SimpleNamespace(time_ns=RUN_S * 10**9))
    trace.end.reason = "killed"  # with no teardown
    by_kind = [SimpleNamespace(kind=KIND_NAMES.index("malloc_trim"))] * (trims > 0)
    report: Any = SimpleNamespace(facts=SimpleNamespace(residency=moments, by_kind=by_kind), trace=trace)
    return telling_scan.telling_scan(report)


def test_little_that_is_free_hides_no_large_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """python3 had 102 MiB for 12.5 of 13 s, 98 mapped by itself; told was its end: 18 MiB, 4.8 of them free."""
    monkeypatch.setattr(telling_scan, "kinds_at", lambda *_: None)
    monkeypatch.setattr(telling_scan, "free_spans", lambda *_: [(0, RUN_S * 10**9)])
    large, later, end = moment(102, 4), moment(100, 4), moment(18, 5, is_last=1)
    for_long, passing = [(0, 102), (12, 18)], [(0, 18), (1, 102), (2, 18)]
    assert told([large, later, end], for_long) == 1
    assert told([large, later, end], passing) == 2
    assert told([large, later, moment(36, 30, is_last=1)], for_long) == 2, "much of what there ever was"
    assert told([], []) == -1


def test_what_the_program_trims_itself_is_no_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of 2 M nodes was cleared under load, for a tenth of the run, then trimmed: told was what was free in
    between, with malloc_trim as the remedy, and not the 18 MiB of buckets that stayed."""
    monkeypatch.setattr(telling_scan, "kinds_at", lambda *_: None)
    monkeypatch.setattr(telling_scan, "free_spans", lambda *_: [(10**9, 4 * 10**9)])
    cleared, rest = moment(88, 58, time_ns=2 * 10**9), moment(26, 0, time_ns=9 * 10**9)
    ends = [cleared, rest, moment(26, 0, is_last=1)]
    briefly = [(0, 10), (1, 88), (2, 26)]
    assert told(ends, briefly, trims=1) == 2
    assert told(ends, briefly) == 0, "it might go on as well"
    assert told([moment(88, 19, time_ns=10**9), cleared], briefly, trims=1) == 0, "no scan after it"
    monkeypatch.setattr(telling_scan, "free_spans", lambda *_: [(10**9, RUN_S * 10**9)])
    assert told(ends, briefly, trims=1) == 0, "it stayed, whatever was trimmed"
    monkeypatch.setattr(telling_scan, "free_spans", lambda *_: [(10**9, 9 * 10**9)])
    assert told(ends, briefly, trims=1) == 0, "it stayed for most of the run, and was trimmed at its end"


def test_the_frees_before_the_exit_are_no_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    """jq frees a document of 78 MiB, block by block, for a quarter of its run: nothing to trim before it exits."""
    monkeypatch.setattr(telling_scan, "kinds_at", lambda *_: None)
    monkeypatch.setattr(telling_scan, "free_spans", lambda *_: [(0, RUN_S * 10**9)])
    moments = [moment(83, 1, time_ns=5), moment(83, 40, time_ns=9), moment(83, 78, time_ns=12, is_last=1)]
    run = SimpleNamespace(begin_ns=8, end_ns=13)
    monkeypatch.setattr(telling_scan.teardown, "last_runs", lambda _: [run])
    assert told(moments, [(0, 83)]) == 0
    run.begin_ns = 1
    assert told(moments, [(0, 83)]) == 2, "there is no other scan"


def emptied(freed_s: int, left: int, resting: int = 0) -> Any:
    """A run of RUN_S seconds that keeps 100 blocks of a MiB for most of it, frees all but `left` of them within
    that second, and makes and frees `resting` blocks in each after it."""
    points = [
        SimpleNamespace(
            time_ns=at * 10**9,
            live_bytes=(100 if at < freed_s else left) * MIB,
            allocations=100 if at == 1 else resting * (at > freed_s),
            releases=100 - left if at == freed_s else resting * (at > freed_s),
        )
        for at in range(1, RUN_S + 1)
    ]
    facts = SimpleNamespace(
        timeline=points,
        release_runs=[],
        peak=SimpleNamespace(live_bytes=100 * MIB),
        coverage=SimpleNamespace(has_end=True),
    )
    trace = SimpleNamespace(end=SimpleNamespace(time_ns=RUN_S * 10**9, reason="exited"))
    return SimpleNamespace(facts=facts, trace=trace, chosen=SimpleNamespace(to_ns=RUN_S * 10**9))


def test_who_frees_all_and_computes_for_a_while_ends() -> None:
    """Eight maps were replaced, the last one freed, then some work without the heap: alone on the machine, that
    free memory was the headline, as it was there for a tenth of the run; beside other programs it was not."""
    end_ns = RUN_S * 10**9
    assert teardown.begin_ns(emptied(11, 0)) == 10 * 10**9, "the last step at which all was there"
    assert teardown.begin_ns(emptied(8, 0)) == end_ns, "a service at rest"
    assert teardown.begin_ns(emptied(11, 20)) == end_ns, "it kept some"
    assert teardown.begin_ns(emptied(11, 0, 50)) == end_ns, "it goes on"
    assert teardown.begin_ns(emptied(RUN_S, 0)) == 12 * 10**9
    threads_wait = emptied(3, 6)  # of a pool, after a burst, with what they keep until they end
    threads_wait.facts.timeline[-1].live_bytes, threads_wait.facts.timeline[-1].releases = 0, 6
    assert teardown.begin_ns(threads_wait) == end_ns, "it rested before"


def test_of_equal_scans_the_later_one_counts() -> None:
    """During the first the program filled the last of its memory: the kernel counted less before it."""
    first, rest, last = moment(100, 90), moment(100, 90), moment(100, 90, is_last=1)
    assert telling_scan.most_free([first, rest, last], lambda _: False) == 1


def test_a_few_free_bytes_more_do_not_count() -> None:
    """A program was filling its memory at a scan, with 336 free bytes more than at the next."""
    rest = moment(118, 90)
    filling = moment(113, 90)._replace(partly_free_bytes=336)
    assert telling_scan.most_free([filling, rest, moment(118, 0, is_last=1)], lambda _: False) == 1
    assert telling_scan.most_free([moment(118, 92), rest], lambda _: False) == 0


def test_what_is_free_for_a_moment_is_not_told_if_much_stays() -> None:
    """A program freed 59 MiB and trimmed 15 ms later; for the rest of the run 50 MiB on huge pages came back."""
    freeing, back, last = moment(64, 59), moment(56, 50), moment(56, 50, is_last=1)
    moments = [freeing, back, last]
    assert telling_scan.lasting(moments, 0, lambda at: at == 0) == 2
    assert telling_scan.lasting(moments, 0, lambda at: at != 2) == 2
    assert telling_scan.lasting(moments, 0, lambda _: False) == 0, "it stayed"
    assert telling_scan.lasting(moments, 0, lambda _: True) == 0, "nothing stayed"
    little, enough = moment(56, 15), moment(56, 16)
    assert telling_scan.lasting([freeing, little], 0, lambda at: at == 0) == 0, (
        "less than a quarter of 64 MiB"
    )
    assert telling_scan.lasting([freeing, enough], 0, lambda at: at == 0) == 1
    assert telling_scan.lasting([], -1, lambda _: True) == -1
