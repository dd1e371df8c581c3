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


def is_contended(lately: Calls, lately_s: float, total: Calls, total_s: float) -> bool | None:
    """Whether heap calls lose time to locks; None: too few calls were timed.

    Few waits lately say nothing where few were to be expected: then its whole life decides.
    """
    now, ever = estimate(lately), estimate(total)
    if ever is None:
        return None
    if now is None:
        return _is_much(ever, total_s)
    timed = (lately.making.calls + lately.releasing.calls) / (total.making.calls + total.releasing.calls)
    has_changed = now.waits < _LEAST_WAITS and ever.waits * timed >= _CHANGED_FROM
    return _is_much(now, lately_s) or (not has_changed and _is_much(ever, total_s))


def _is_much(found: Contention, took_s: float) -> bool:
    lost_ns = max(found.lost_ns.value, found.seen_ns)
    return found.waits >= _LEAST_WAITS and lost_ns / 1e9 >= _LEAST_LOST * took_s


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


def describe(calls: Calls) -> dict[str, Any]:
    """Sums for count's document."""
    found = estimate(calls)
    if found is None:
        return Sums()._asdict()
    values = (*found.collisions, *found.lost_ns, found.preempted_ns, found.other_ns)
    return Sums(*(None if value is None else round(value) for value in values))._asdict()
