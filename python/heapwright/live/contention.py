# SPDX-License-Identifier: MIT
"""Waits for locks in heap calls, estimated from the timed calls: collisions, and the time lost by them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from heapwright.live.figures import LEAST_TIMED
from heapwright.live.page import Calls, HeapFigures

_TWO_SIDED_95 = 1.96
_MORE_OF_THE_SLOWEST = 2
# Timing changes how threads meet (docs/decisions/0041-contention.md).
_TIMING = 1.5
# Fewer may be chance: a thread that was stopped by a signal in a timed call, for example.
_LEAST_WAITS = 2
# Of a processor: what is less is not worth a change.
_LEAST_LOST = 1e-3
# So many waits expected and fewer than the least seen: it has changed.
_CHANGED_FROM = 9
# How long a wait may have been where none was seen, at least: asleep and awake again takes up to that.
_LEAST_WAIT_NS = 100_000


class Range(NamedTuple):
    """An estimate and its 95 % interval; high None: unknown."""

    value: float
    low: float
    high: float | None


class Contention(NamedTuple):
    """Of the calls of some time. lost_ns: sums over threads."""

    waits: int  # calls that were seen to wait for a lock, timed or sought
    seen_ns: int  # how long these did: lost for certain
    collisions: Range
    lost_ns: Range
    preempted_ns: float
    other_ns: float  # off the CPU for another reason: the kernel's, or unknown


def estimate(calls: Calls) -> Contention | None:
    """None: too few calls were timed."""
    timed = calls.making.calls + calls.releasing.calls
    if timed < LEAST_TIMED:
        return None
    weight = sum(calls.by_function.values()) / timed
    waits = calls.lock_waits
    low, high = poisson_interval(waits.calls)
    error_ns = _TWO_SIDED_95 * math.sqrt(_squares(waits.bins))
    other_ns = calls.making.waited_ns + calls.releasing.waited_ns - waits.ns - calls.preempted_ns
    return Contention(
        waits.calls + calls.sought_calls,
        waits.ns + calls.sought_ns,
        Range(waits.calls * weight, low * weight / _TIMING, high * weight * _TIMING),
        Range(
            waits.ns * weight,
            max(0.0, waits.ns - error_ns) * weight / _TIMING,
            (waits.ns + error_ns) * weight * _TIMING if waits.calls else None,
        ),
        calls.preempted_ns * weight,
        max(0, other_ns) * weight,
    )


def poisson_interval(count: int) -> tuple[float, float]:
    """The 95 % interval of a mean of which this count was seen (Byar's approximation).

    >>> [round(edge, 1) for edge in poisson_interval(10)]
    [4.8, 18.4]
    """
    above = count + 1
    high = above * (1 - 1 / (9 * above) + _TWO_SIDED_95 / (3 * math.sqrt(above))) ** 3
    if not count:
        return 0.0, high
    return count * max(0.0, 1 - 1 / (9 * count) - _TWO_SIDED_95 / (3 * math.sqrt(count))) ** 3, high


def _squares(bins: tuple[int, ...]) -> float:
    """The sum of squared waits, as if there had been two more of the longest."""
    square = longest = 0.0
    for index, count in enumerate(bins):
        if count:
            longest = (1.5 * (1 << index)) ** 2
            square += count * longest
    return square + _MORE_OF_THE_SLOWEST * longest


class Waits(NamedTuple):
    """By the kernel's counts, what threads can have lost at most by waiting for anything; None: not known."""

    lost_ns_per_s: float | None = None
    longest_ns: float = 0  # that one waits, once it could go on


NO_WAITS = Waits()


def is_contended(
    lately: Calls, lately_s: float, total: Calls, total_s: float, waits: Waits = NO_WAITS
) -> bool | None:
    """Whether heap calls lose time to locks; None: what was seen does not tell.

    Few waits lately say nothing where few were to be expected: then its whole life decides. waits: lately.
    """
    now, ever = estimate(lately), estimate(total)
    if ever is None:
        return None
    if now is None:
        now, lately, lately_s = ever, total, total_s
    timed = (lately.making.calls + lately.releasing.calls) / (total.making.calls + total.releasing.calls)
    has_changed = now.waits < _LEAST_WAITS and ever.waits * timed >= _CHANGED_FROM
    if _is_much(now, lately_s) or (not has_changed and _is_much(ever, total_s)):
        return True
    is_short = lately.lock_waits.calls >= _LEAST_WAITS  # the sample tells how much is lost
    if is_short or total.threads_begun <= 1:
        return False
    if waits.lost_ns_per_s is not None and waits.lost_ns_per_s / 1e9 < _LEAST_LOST:
        return False
    # Collisions come in bursts beside other work, so a look without one does not show that they ended.
    has_begun = now.waits > 0 and lately is not total
    if has_changed or has_begun or not _is_bounded(ever, total, total_s, waits.longest_ns):
        return None
    return False


def is_undecided(total: Calls, total_s: float) -> bool:
    """Whether only the kernel's counts can tell that calls do not wait, or do no more."""
    return estimate(total) is not None and is_contended(total, total_s, total, total_s) is not False


def _is_much(found: Contention, took_s: float) -> bool:
    lost_ns = max(found.lost_ns.value, found.seen_ns)
    return found.waits >= _LEAST_WAITS and lost_ns / 1e9 >= _LEAST_LOST * took_s


def _is_bounded(found: Contention, calls: Calls, took_s: float, longest_ns: float) -> bool:
    """Whether unseen collisions would not matter if they took as long as calls were off the processor for
    whatever reason: beside other work, whoever waits waits longer."""
    assert found.collisions.high is not None
    off_calls = calls.making.waited_calls + calls.releasing.waited_calls
    off_ns = calls.making.waited_ns + calls.releasing.waited_ns
    wait_ns = max(_LEAST_WAIT_NS, longest_ns, off_ns / off_calls if off_calls else 0)
    return found.collisions.high / took_s * wait_ns / 1e9 < _LEAST_LOST


class Rates(NamedTuple):
    """Per second; what is unknown is None."""

    collisions_per_s: float | None = None
    collisions_low_per_s: float | None = None
    collisions_high_per_s: float | None = None
    lost_ns_per_s: float | None = None
    lost_low_ns_per_s: float | None = None
    lost_high_ns_per_s: float | None = None
    preempted_ns_per_s: float | None = None


def estimated_rates(calls: Calls, took_s: float) -> Rates:
    """Of any allocator."""
    found = estimate(calls)
    if found is None:
        return Rates()
    values = (*found.collisions, *found.lost_ns, found.preempted_ns)
    return Rates(*(None if value is None else round(value / took_s, 1) for value in values))


def is_contended_as_counted(earlier: HeapFigures | None, later: HeapFigures, took_s: float) -> bool:
    """Of our own heap, which counts each. earlier: None, since it began."""
    waits = later.contended - (earlier.contended if earlier else 0)
    lost_ns = later.wait_ns - (earlier.wait_ns if earlier else 0)
    return waits >= _LEAST_WAITS and lost_ns / 1e9 >= _LEAST_LOST * took_s


def counted_rates(earlier: HeapFigures, later: HeapFigures, took_s: float) -> Rates:
    """Of our own heap, which counts each: the interval is one value."""
    collisions = round((later.contended - earlier.contended) / took_s, 1)
    lost_ns = round((later.wait_ns - earlier.wait_ns) / took_s, 1)
    return Rates(*[collisions] * 3, *[lost_ns] * 3)


class Sums(NamedTuple):
    """As count prints them; None: too few calls were timed."""

    collisions: int | None = None
    collisions_low: int | None = None
    collisions_high: int | None = None
    lost_ns: int | None = None
    lost_low_ns: int | None = None
    lost_high_ns: int | None = None
    preempted_ns: int | None = None
    other_ns: int | None = None
    is_contended: bool | None = None


def describe_counted(heap: HeapFigures) -> dict[str, Any]:
    """Of describe() what our own heap counts: the intervals are one value."""
    counted, lost_ns = heap.contended, heap.wait_ns
    return Sums(counted, counted, counted, lost_ns, lost_ns, lost_ns)._asdict()


def describe(calls: Calls) -> dict[str, Any]:
    """Sums for count's document; the verdict is put in by whoever knows for how long it counted."""
    found = estimate(calls)
    if found is None:
        return Sums()._asdict()
    values = (*found.collisions, *found.lost_ns, found.preempted_ns, found.other_ns)
    whole = [None if value is None else round(value) for value in values]
    return dict(zip(Sums._fields, (*whole, None), strict=True))
