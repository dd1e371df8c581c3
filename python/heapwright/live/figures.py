# SPDX-License-Identifier: MIT
"""Figures from counters: sums, levels as differences, estimates from timed calls."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from heapwright.live.layout import MAKING, RELEASING, bin_edges
from heapwright.live.page import Calls, ContextCalls, LockWaits, Timings

# Fewer timed calls give no estimate.
LEAST_TIMED = 30
# This many timed calls must be beyond a percentile.
_LEAST_BEYOND = 10
_TWO_SIDED_95 = 1.96
_MORE_OF_THE_SLOWEST = 2
_Combine = Callable[[int, int], int]


def made_blocks(calls: Calls) -> int:
    """Allocated blocks."""
    return sum(calls.by_function[name] for name in MAKING if name != "realloc") + calls.realloc_made


def released_blocks(calls: Calls) -> int:
    """Released blocks."""
    return sum(calls.by_function[name] for name in RELEASING) + calls.realloc_released


def live_blocks(calls: Calls) -> int:
    """Below 0 if earlier blocks are released: in a fork child, or after attaching."""
    return made_blocks(calls) - released_blocks(calls)


def live_bytes(calls: Calls) -> int | None:
    """Usable bytes; None if the allocator does not report them."""
    return None if calls.has_unknown_usable else calls.usable_bytes - calls.released_bytes


def percentile(bins: Sequence[int], share: float, least_beyond: int = _LEAST_BEYOND) -> int | None:
    """The largest value of the percentile's bin; None: too few are beyond it."""
    total = sum(bins)
    if total * (1 - share) < least_beyond or total == 0:
        return None
    below = 0
    for index, count in enumerate(bins):
        below += count
        if below >= total * share:
            return bin_edges(index)[1] - 1
    return None


def estimate(timings: Timings, calls: int, clock_ns: int) -> dict[str, Any]:
    """The CPU time of all calls, estimated from the timed ones, with the 95 % interval.
    clock_ns: the cost of reading the clock."""
    enough = timings.calls >= LEAST_TIMED
    record: dict[str, Any] = {"calls": calls, "timed_calls": timings.calls}
    if not enough:
        return record | dict.fromkeys(
            (
                "mean_ns",
                "time_ns",
                "time_error_ns",
                "p50_ns",
                "p99_ns",
                "p999_ns",
                "slow_calls",
                "slow_ns",
                "waited_calls",
                "waited_ns",
            )
        )
    mean = timings.ns / timings.calls
    weight = calls / timings.calls
    # A timed call runs in isolation, while others overlap with the code around them: it is too long, by at
    # most one clock reading.
    error = _TWO_SIDED_95 * _deviation(timings, mean) / math.sqrt(timings.calls) + clock_ns
    return record | {
        "mean_ns": round(mean, 1),
        "time_ns": round(mean * calls),
        "time_error_ns": round(error * calls),
        "p50_ns": percentile(timings.bins, 0.5),
        "p99_ns": percentile(timings.bins, 0.99),
        "p999_ns": percentile(timings.bins, 0.999),
        "slow_calls": round(timings.slow_calls * weight),
        "slow_ns": round(timings.slow_ns * weight),
        "waited_calls": round(timings.waited_calls * weight),
        "waited_ns": round(timings.waited_ns * weight),
    }


def _deviation(timings: Timings, mean: float) -> float:
    """As if there had been two more of the slowest: few long calls, perhaps missed, decide the sum."""
    square = slowest = 0.0
    for index, count in enumerate(timings.bins):
        if count:
            first, behind = bin_edges(index)
            slowest = ((first + behind - 1) / 2 - mean) ** 2
            square += count * slowest
    return math.sqrt((square + _MORE_OF_THE_SLOWEST * slowest) / max(1, timings.calls - 1))


def size_rows(sizes: Sequence[int]) -> list[dict[str, int]]:
    """Requests by octave: from a power of two to below the next. The first row has sizes below 4."""
    rows = []
    for begin in range(0, len(sizes), 4):
        if count := sum(sizes[begin : begin + 4]):
            rows.append(
                {
                    "from_bytes": bin_edges(begin)[0],
                    "to_bytes": bin_edges(begin + 3)[1] - 1,
                    "requests": count,
                }
            )
    return rows


def context_rows(calls: Calls) -> list[dict[str, Any]]:
    """Those in which something was called, by the bytes that were requested; last what was called in none."""
    named = {name: context for name, context in calls.contexts.items() if context.calls}
    if not named:
        return []
    all_of = (
        sum(calls.by_function.values()),
        sum(calls.by_function[name] for name in MAKING),
        calls.requested_bytes,
        calls.usable_bytes,
        calls.making.calls + calls.releasing.calls,
        calls.making.ns + calls.releasing.ns,
        calls.released_bytes,
    )
    in_any = map(sum, zip(*named.values(), strict=True))
    rest = ContextCalls(*(max(0, whole - part) for whole, part in zip(all_of, in_any, strict=True)))
    order = sorted(named, key=lambda name: (-named[name].requested_bytes, name))
    return [*(_context_row(name, named[name], calls) for name in order), _context_row("", rest, calls)]


def _context_row(name: str, context: ContextCalls, calls: Calls) -> dict[str, Any]:
    timed = context.timed_calls
    return {
        "context": name,
        "calls": context.calls,
        "made": context.made,
        "requested_bytes": context.requested_bytes,
        "usable_bytes": None if calls.has_unknown_usable else context.usable_bytes,
        "net_bytes": None if calls.has_unknown_usable else context.usable_bytes - context.released_bytes,
        "timed_calls": timed,
        "time_ns": round(context.timed_ns / timed * context.calls) if timed >= LEAST_TIMED else None,
    }


def difference(earlier: Calls, later: Calls) -> Calls:
    """What was counted between two readings of one page."""
    return _combined(later, earlier, operator.sub)


def total(all_calls: Sequence[Calls]) -> Calls:
    """The calls of several processes of one program as those of one. Not empty."""
    whole = all_calls[0]
    for one in all_calls[1:]:
        flags = {name: getattr(whole, name) or getattr(one, name) for name in _FLAGS}
        whole = _combined(whole, one, operator.add)._replace(
            **flags,
            clock_ns=max(whole.clock_ns, one.clock_ns),
            calls_while_reading=whole.calls_while_reading + one.calls_while_reading,
        )
    return whole


def runs_backwards(lately: Calls) -> bool:
    """Whether a difference is below 0, which that of a page never is."""
    values: list[int] = [getattr(lately, name) for name in _SUMS] + [
        *lately.by_function.values(),
        *lately.sizes,
        *lately.lock_waits[:2],
        *lately.lock_waits.bins,
    ]
    for context in lately.contexts.values():
        values += context
    for timings in (lately.making, lately.releasing):
        values += [getattr(timings, name) for name in _TIMING_SUMS] + [*timings.bins]
    return min(values) < 0


_SUMS = ("requested_bytes", "usable_bytes", "released_bytes", "realloc_made", "realloc_released", "failed",
         "null_releases", "threads_begun", "threads_ended", "preempted_calls", "preempted_ns", "sought_calls",
         "sought_ns")  # fmt: skip
_FLAGS = ("has_own_malloc", "has_unknown_usable", "is_attached", "is_patched")
_TIMING_SUMS = ("calls", "ns", "slow_calls", "slow_ns", "waited_calls", "waited_ns")


def _combined(some: Calls, other: Calls, combine: _Combine) -> Calls:
    """Sums combined; what is none is that of the first."""
    sums: dict[str, Any] = {name: combine(getattr(some, name), getattr(other, name)) for name in _SUMS}
    return some._replace(
        **sums,
        by_function={
            name: combine(count, other.by_function[name]) for name, count in some.by_function.items()
        },
        making=_combined_timings(some.making, other.making, combine),
        releasing=_combined_timings(some.releasing, other.releasing, combine),
        lock_waits=LockWaits(
            combine(some.lock_waits.calls, other.lock_waits.calls),
            combine(some.lock_waits.ns, other.lock_waits.ns),
            tuple(map(combine, some.lock_waits.bins, other.lock_waits.bins)),
        ),
        sizes=tuple(map(combine, some.sizes, other.sizes)),
        contexts=_combined_contexts(some.contexts, other.contexts, combine),
    )


_NO_CALLS = ContextCalls(0, 0, 0, 0, 0, 0, 0)


def _combined_contexts(
    some: Mapping[str, ContextCalls], other: Mapping[str, ContextCalls], combine: _Combine
) -> dict[str, ContextCalls]:
    return {
        name: ContextCalls(*map(combine, some.get(name, _NO_CALLS), other.get(name, _NO_CALLS)))
        for name in dict(some) | dict(other)
    }


def _combined_timings(some: Timings, other: Timings, combine: _Combine) -> Timings:
    return Timings(
        **{name: combine(getattr(some, name), getattr(other, name)) for name in _TIMING_SUMS},
        bins=tuple(map(combine, some.bins, other.bins)),
    )
