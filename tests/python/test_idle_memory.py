# SPDX-License-Identifier: MIT
"""For how long memory was free, in all and without a break."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from heapwright.explain.idle_memory import free_spans, lasted_ns, lasted_on_ns

MIB = 1 << 20
SECOND = 10**9


def report_of(resident: list[tuple[int, int]], live: list[tuple[int, int]], end_s: int) -> Any:
    """From which second on how many MiB were resident, and live."""
    samples = [
        SimpleNamespace(time_ns=at * SECOND, resident_anonymous_bytes=size * MIB) for at, size in resident
    ]
    points = [
        SimpleNamespace(time_ns=at * SECOND, live_usable_bytes=size * MIB, usable_at_highest_bytes=size * MIB)
        for at, size in live
    ]
    return SimpleNamespace(
        facts=SimpleNamespace(resident_owners=[], timeline=points),
        trace=SimpleNamespace(memory_samples=samples, end=SimpleNamespace(time_ns=end_s * SECOND)),
    )


def kinds_of(at_s: float, resident: int, live: int) -> Any:
    moment = SimpleNamespace(
        time_ns=int(at_s * SECOND),
        resident_bytes=resident * MIB,
        other_bytes=0,
        live_bytes=live * MIB,
        rounding_bytes=0,
    )
    return SimpleNamespace(moment=moment, free_bytes=(resident - live) * MIB)


def seconds(report: Any, kinds: Any) -> tuple[float, float]:
    """In all, and without a break."""
    lasted_on = lasted_on_ns(free_spans(report, kinds, 0), kinds.moment.time_ns)
    return lasted_ns(report, kinds, 0) / SECOND, lasted_on / SECOND


def test_a_break_ends_what_lasts_on() -> None:
    """Free from 2 to 4, and from 10 to the end; and a sample in between changes nothing."""
    report = report_of([(0, 60), (4, 10), (10, 50), (12, 51)], [(0, 60), (2, 0)], 15)
    assert seconds(report, kinds_of(3, 60, 0)) == (7, 2)
    assert seconds(report, kinds_of(11, 50, 0)) == (7, 5)
    assert seconds(report, kinds_of(15, 50, 0)) == (7, 5)
    assert seconds(report, kinds_of(7, 50, 0)) == (7, 0), "nothing was free then, by the samples"


def test_half_as_much_still_counts() -> None:
    report = report_of([(0, 60), (4, 30), (8, 29)], [(0, 0)], 10)
    assert seconds(report, kinds_of(1, 60, 0)) == (8, 8)


def test_memory_that_is_soon_used_is_not_free() -> None:
    """From 3 on it is needed again, within a second of 2."""
    report = report_of([(0, 60)], [(0, 0), (2, 0), (3, 60)], 10)
    assert seconds(report, kinds_of(1, 60, 0)) == (2, 2)


def test_without_samples_nothing_is_known() -> None:
    assert seconds(report_of([], [(0, 0)], 10), kinds_of(1, 60, 0)) == (0, 0)
    assert seconds(report_of([(0, 60)], [], 10), kinds_of(1, 60, 0)) == (0, 0)
