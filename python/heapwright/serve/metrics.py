# SPDX-License-Identifier: MIT
# length: every metric that is served, with its meaning
"""The metrics: names, meaning, and sources of their values.

Names are the same for every allocator, units are bytes and seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from prometheus_client import Metric as Family
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
)
from prometheus_client.registry import Collector

from heapwright.live import figures
from heapwright.live.layout import FUNCTIONS
from heapwright.live.page import Calls, ContextCalls, HeapFigures, LockWaits, Timings
from heapwright.serve.programs import Program
from heapwright.serve.watch import Look, Seen, Watch

COUNTER, GAUGE, HISTOGRAM, INFO = "counter", "gauge", "histogram", "info"
_FAMILIES: dict[str, Callable[..., Any]] = {
    COUNTER: CounterMetricFamily,
    GAUGE: GaugeMetricFamily,
    HISTOGRAM: HistogramMetricFamily,
    INFO: InfoMetricFamily,
}
_OF_A_PROCESS = ("pid", "program")
# Powers of two, since a bin of the pages begins at each.
_NS_EXPONENTS = (4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 23, 27, 30)
_LOCK_EXPONENTS = (12, 14, 17, 20, 23, 27, 30)
_SIZE_EXPONENTS = (4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 17, 20, 24, 30)


class Buckets(NamedTuple):
    """A histogram's value: how many lie at or below each edge, and the sum of all."""

    counts: Sequence[tuple[str, int]]
    sum: float


Value = float | Buckets | dict[str, str]
# The values of one process, with those of the labels beside pid and program.
Values = Iterable[tuple[tuple[str, ...], Value]]


class Metric(NamedTuple):
    """name: without the suffix that its kind has (_total, _bucket, _info)."""

    name: str
    kind: str
    about: str
    values: Callable[[Seen], Values]
    labels: tuple[str, ...] = ()


def _of_calls(value: Callable[[Calls], float | Buckets | None]) -> Callable[[Seen], Values]:
    def values(seen: Seen) -> Values:
        found = value(seen.calls) if seen.calls else None
        return () if found is None else (((), found),)

    return values


def _of_heap(value: Callable[[HeapFigures], float | None]) -> Callable[[Seen], Values]:
    def values(seen: Seen) -> Values:
        found = value(seen.heap) if seen.heap else None
        return () if found is None else (((), found),)

    return values


def _by_function(seen: Seen) -> Values:
    return (((name,), seen.calls.by_function[name]) for name in FUNCTIONS) if seen.calls else ()


def _by_context(value: Callable[[ContextCalls], float]) -> Callable[[Seen], Values]:
    def values(seen: Seen) -> Values:
        named = seen.calls.contexts if seen.calls else {}
        return (((name,), value(context)) for name, context in named.items())

    return values


def _timed(seen: Seen) -> Values:
    if seen.calls:
        yield ("make",), _seconds(seen.calls.making)
        yield ("release",), _seconds(seen.calls.releasing)


def _waiting(seen: Seen) -> Values:
    if seen.calls:
        yield ("make",), seen.calls.making.waited_ns / 1e9
        yield ("release",), seen.calls.releasing.waited_ns / 1e9


def _buckets(bins: Sequence[int], exponents: Sequence[int], edge: Callable[[int], float]) -> Iterator[Any]:
    below = [0, *accumulate(bins)]
    for exponent in exponents:
        yield repr(float(edge(1 << exponent))), below[4 * (exponent - 1)]
    yield "+Inf", below[-1]


def _seconds(timings: Timings) -> Buckets:
    # Times are cut to whole ns: what is below 16 ns lasted at most 16.
    return Buckets(list(_buckets(timings.bins, _NS_EXPONENTS, lambda ns: ns / 1e9)), timings.ns / 1e9)


def _lock_seconds(waits: LockWaits) -> Buckets:
    below = [0, *accumulate(waits.bins)]
    edges = [(repr((1 << exponent) / 1e9), below[exponent]) for exponent in _LOCK_EXPONENTS]
    return Buckets([*edges, ("+Inf", below[-1])], waits.ns / 1e9)


def _sizes(calls: Calls) -> Buckets:
    # Sizes are whole: those at most 15 are those below 16, and 16 is not among them.
    return Buckets(list(_buckets(calls.sizes, _SIZE_EXPONENTS, lambda size: size - 1)), calls.requested_bytes)


def _is_whole(seen: Seen) -> bool:
    """Whether every living block was counted when it was made."""
    return seen.calls is not None and not seen.calls.is_attached and not seen.generation


def _live(of: Callable[[Calls], float | None], is_whole: bool) -> Callable[[Seen], Values]:
    """Of a program with a malloc of its own, nothing is known."""
    values = _of_calls(lambda calls: None if calls.has_own_malloc else of(calls))
    return lambda seen: values(seen) if _is_whole(seen) == is_whole else ()


def _usable(calls: Calls, value: int) -> int | None:
    return None if calls.has_unknown_usable else value


def _by_kind(seen: Seen) -> Values:
    if memory := seen.memory:
        for kind in ("anonymous", "file", "shared", "swapped"):
            yield (kind,), getattr(memory, f"{kind}_bytes")


def _info(seen: Seen) -> Values:
    if calls := seen.calls:
        words = {
            "allocator": PurePosixPath(calls.allocator).name or "unknown",
            "own_malloc": str(calls.has_own_malloc).lower(),
            "attached": str(calls.is_attached).lower(),
            "forks": str(seen.generation),
        }
        yield (), words


_SINCE = "since counting began"
_CHANGE = "made less released since counting began, of processes that made blocks before: forked, attached to"
# CLOCK_MONOTONIC, which pages have, begins here; asked once, so that a process's start stays the same.
_CLOCK_BEGAN_S = time.time() - time.monotonic()

METRICS = (
    Metric(
        "heap_process",
        INFO,
        "The library that malloc comes from; whether calls to a malloc of the program's own are missing; "
        "whether it was attached to; forks since it was executed.",
        _info,
    ),
    Metric(
        "heap_counting_start_time_seconds",
        GAUGE,
        "When counting began, since 1970.",
        _of_calls(lambda calls: round(_CLOCK_BEGAN_S + calls.started_ns / 1e9, 3)),
    ),
    Metric(
        "heap_calls",
        COUNTER,
        f"Calls that were served {_SINCE}, each once, where the program made it.",
        _by_function,
        ("function",),
    ),
    Metric(
        "heap_failed_calls",
        COUNTER,
        f"Failed calls {_SINCE}.",
        _of_calls(lambda calls: calls.failed),
    ),
    Metric(
        "heap_null_releases",
        COUNTER,
        f"Releases of a null pointer {_SINCE}; not among the calls.",
        _of_calls(lambda calls: calls.null_releases),
    ),
    Metric(
        "heap_requested_bytes",
        COUNTER,
        f"Bytes requested by served calls {_SINCE}.",
        _of_calls(lambda calls: calls.requested_bytes),
    ),
    Metric(
        "heap_usable_bytes",
        COUNTER,
        f"Usable bytes of these blocks, by the allocator, {_SINCE}.",
        _of_calls(lambda calls: _usable(calls, calls.usable_bytes)),
    ),
    Metric(
        "heap_released_bytes",
        COUNTER,
        f"Usable bytes of released blocks {_SINCE}.",
        _of_calls(lambda calls: _usable(calls, calls.released_bytes)),
    ),
    Metric("heap_live_bytes", GAUGE, "Usable bytes of live blocks.", _live(figures.live_bytes, True)),
    Metric("heap_live_blocks", GAUGE, "Live blocks.", _live(figures.live_blocks, True)),
    Metric("heap_live_change_bytes", GAUGE, f"Usable bytes {_CHANGE}.", _live(figures.live_bytes, False)),
    Metric("heap_live_change_blocks", GAUGE, f"Blocks {_CHANGE}.", _live(figures.live_blocks, False)),
    Metric(
        "heap_calls_while_reading",
        GAUGE,
        "Calls that were made while this was read: at most as many of the blocks above may be gone.",
        _of_calls(lambda calls: calls.calls_while_reading),
    ),
    Metric("heap_request_size_bytes", HISTOGRAM, "Sizes of served requests.", _of_calls(_sizes)),
    Metric(
        "heap_timed_call_duration_seconds",
        HISTOGRAM,
        "CPU times of the timed calls, a random sample of heap_calls_total.",
        _timed,
        ("operation",),
    ),
    Metric(
        "heap_timed_call_waiting_seconds",
        COUNTER,
        "Time these calls were off the CPU: waiting for a CPU, a lock or the kernel.",
        _waiting,
        ("operation",),
    ),
    Metric(
        "heap_timed_call_lock_wait_seconds",
        HISTOGRAM,
        "Of this, the waits for locks, a sample of all collisions in heap calls.",
        _of_calls(lambda calls: _lock_seconds(calls.lock_waits)),
    ),
    Metric(
        "heap_timed_call_preempted_seconds",
        COUNTER,
        "Of this, the time in which the kernel had taken the CPU away.",
        _of_calls(lambda calls: calls.preempted_ns / 1e9),
    ),
    Metric(
        "heap_contended",
        GAUGE,
        "1: locks cost heap calls more than 1 ms per second, since the last scrape, or in the whole life "
        "where that saw too little; 0: they do not. Left out while neither is known.",
        lambda seen: () if seen.is_contended is None else (((), int(seen.is_contended)),),
    ),
    Metric(
        "heap_threads_begun",
        COUNTER,
        "Threads that made a first call; a lower bound where counting is patched in.",
        _of_calls(lambda calls: calls.threads_begun),
    ),
    Metric(
        "heap_threads_ended",
        COUNTER,
        "Of these threads, those that ended; not known where counting is patched in.",
        _of_calls(lambda calls: None if calls.is_patched else calls.threads_ended),
    ),
    Metric(
        "heap_lock_contentions",
        COUNTER,
        "Lock acquisitions of the heap that had to wait; only libheapwright.so.",
        _of_heap(lambda heap: heap.contended),
    ),
    Metric(
        "heap_lock_wait_seconds",
        COUNTER,
        "How long they waited; only libheapwright.so.",
        _of_heap(lambda heap: heap.wait_ns / 1e9),
    ),
    Metric(
        "heap_remote_frees",
        COUNTER,
        "Cross-thread frees; only libheapwright.so.",
        _of_heap(lambda heap: heap.remote_frees),
    ),
    Metric(
        "heap_committed_bytes",
        GAUGE,
        "Address space that the heap may write to; only libheapwright.so.",
        _of_heap(lambda heap: heap.committed_bytes),
    ),
    Metric(
        "heap_dirty_bytes",
        GAUGE,
        "Dirty free memory not returned to the kernel; only libheapwright.so.",
        _of_heap(lambda heap: heap.dirty_bytes),
    ),
    Metric(
        "heap_purged_bytes",
        COUNTER,
        "Memory returned to the kernel; only libheapwright.so.",
        _of_heap(lambda heap: heap.purged_bytes),
    ),
    Metric(
        "process_resident_memory_bytes",
        GAUGE,
        "Resident memory of the whole process.",
        lambda seen: (((), seen.resident_bytes),),
    ),
    Metric(
        "process_memory_bytes",
        GAUGE,
        "Of this, by kind: anonymous, of files, shared without a file; and what is swapped.",
        _by_kind,
        ("kind",),
    ),
)
_OF_ALL = "of all processes of the program, ended ones included, since serve was started"
PROGRAM_METRICS = (
    Metric("heap_program_calls", COUNTER, f"Calls that were served, {_OF_ALL}.", _by_function, ("function",)),
    Metric(
        "heap_program_failed_calls",
        COUNTER,
        f"Failed calls, {_OF_ALL}.",
        _of_calls(lambda calls: calls.failed),
    ),
    Metric(
        "heap_program_requested_bytes",
        COUNTER,
        f"Bytes requested, {_OF_ALL}.",
        _of_calls(lambda calls: calls.requested_bytes),
    ),
    Metric(
        "heap_program_timed_call_duration_seconds",
        HISTOGRAM,
        f"CPU times of the timed calls, {_OF_ALL}.",
        _timed,
        ("operation",),
    ),
    Metric(
        "heap_program_timed_call_lock_wait_seconds",
        HISTOGRAM,
        f"Their waits for locks, {_OF_ALL}.",
        _of_calls(lambda calls: _lock_seconds(calls.lock_waits)),
    ),
)
PROCESSES = "heap_program_processes"
_OF_CONTEXT = f"in each context that the program named (heapwright/annotate.h), {_OF_ALL}."
CONTEXT_METRICS = (
    Metric(
        "heap_context_calls",
        COUNTER,
        f"Calls {_OF_CONTEXT}",
        _by_context(lambda context: context.calls),
        ("context",),
    ),
    Metric(
        "heap_context_requested_bytes",
        COUNTER,
        f"Bytes requested {_OF_CONTEXT}",
        _by_context(lambda context: context.requested_bytes),
        ("context",),
    ),
    Metric(
        "heap_context_usable_bytes",
        COUNTER,
        f"Usable bytes of the blocks that were made {_OF_CONTEXT}",
        _by_context(lambda context: context.usable_bytes),
        ("context",),
    ),
    Metric(
        "heap_context_released_bytes",
        COUNTER,
        f"Usable bytes of the blocks that were released, whoever made them, {_OF_CONTEXT}",
        _by_context(lambda context: context.released_bytes),
        ("context",),
    ),
    Metric(
        "heap_context_timed_calls",
        COUNTER,
        f"Timed calls, a random sample, {_OF_CONTEXT}",
        _by_context(lambda context: context.timed_calls),
        ("context",),
    ),
    Metric(
        "heap_context_timed_call_duration_seconds",
        COUNTER,
        f"CPU times of the timed calls {_OF_CONTEXT}",
        _by_context(lambda context: context.timed_ns / 1e9),
        ("context",),
    ),
)
_PROCESSES_ABOUT = "Images that counted, each exec and fork its own, since serve was started."
UNREAD = "heapwright_unread_pages"
_UNREAD_ABOUT = "Pages of counters that are left out, including other users'; heapwright top shows why."


class ProcessCollector(Collector):
    """All metrics of all processes, read when they are asked for."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def describe(self) -> Iterator[Family]:
        """Names alone."""
        return families(Look([], [], 0))

    def collect(self) -> Iterator[Family]:
        """Reads the pages."""
        return families(self._watch.look())


def families(look: Look) -> Iterator[Family]:
    """A family per metric, without samples where no process has it."""
    for metric in METRICS:
        yield _family(metric, look.processes)
    if look.programs:
        yield from _of_programs(look.programs)
    yield GaugeMetricFamily(UNREAD, _UNREAD_ABOUT, value=look.unread)


def _of_programs(programs: Sequence[Program]) -> Iterator[Family]:
    seen = [Seen(0, program.name, 0, 0, program.calls, None) for program in programs]
    for metric in (*PROGRAM_METRICS, *CONTEXT_METRICS):
        yield _family(metric, seen, ("program",))
    processes = CounterMetricFamily(PROCESSES, _PROCESSES_ABOUT, labels=("program",))
    for program in programs:
        processes.add_metric((program.name,), program.processes)
    yield processes


def _family(metric: Metric, processes: Sequence[Seen], of: Sequence[str] = _OF_A_PROCESS) -> Family:
    unit = next((unit for unit in ("bytes", "seconds") if metric.name.endswith(f"_{unit}")), "")
    keywords = {"unit": unit} if unit else {}
    labels = (*of, *metric.labels)
    family: Family = _FAMILIES[metric.kind](metric.name, metric.about, labels=labels, **keywords)
    add: Callable[..., None] = family.add_metric  # type: ignore[attr-defined]
    for seen in processes:
        for own, value in metric.values(seen):
            key = (*(str(seen.process), seen.program)[-len(of) :], *own)
            if isinstance(value, Buckets):
                add(key, value.counts, value.sum)
            else:
                add(key, value)
    return family
