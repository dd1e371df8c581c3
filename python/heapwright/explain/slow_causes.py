# SPDX-License-Identifier: MIT
"""Why calls were slow: the causes in words, and patterns with a name and a remedy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from heapwright.explain.mapped_blocks import are_mapped
from heapwright.explain.report import Report, share
from heapwright.explain.settings import (
    ARENA_MAX,
    FAST_BINS,
    FIRST_MMAP_THRESHOLD,
    GIVING,
    MMAP_THRESHOLD,
    TOP_PAD,
    keeping,
    thresholds,
)
from heapwright.explain.site_names import site_name
from heapwright.model import KIND_NAMES
from heapwright.model.facts import SlowCall
from heapwright.report import units

# By number, as in analyze::SlowCause.
CAUSES = (
    "unknown",
    "page faults",
    "preempted",
    "waiting",
    "mapping memory",
    "consolidation",
    "own mapping",
    "trimming",
    "own work",
    "unexplained",
)
UNKNOWN, PAGE_FAULTS, PREEMPTED, WAITING, MAPPING, CONSOLIDATION, _, TRIMMING, _, UNEXPLAINED = range(
    len(CAUSES)
)

# Shorter ones are not reported.
_WORTH_NS = 1_000_000
_WORTH_SHARE = 0.05
_FEW = 100
_STORM = 1000


class Pattern(NamedTuple):
    """A cause with a name. duration_ns: of the calls considered; longest_ns: of one of them."""

    name: str
    duration_ns: int
    longest_ns: int
    evidence: str
    remedy: str


def evidence_of(cause: int) -> str:
    """How the cause is known."""
    if cause in (PAGE_FAULTS, PREEMPTED, WAITING, MAPPING):
        return "observed"
    return "not known" if cause in (UNKNOWN, UNEXPLAINED) else "inferred"


def kernel_events(report: Report) -> str:
    """Whether the trace has the kernel's records ("recorded"), or why not."""
    return report.trace.metadata.condition_values.get("kernel_events", "not in traces of this old version")


def lost_records(report: Report) -> int:
    """Records that the kernel dropped because its ring buffers were full."""
    value = report.trace.metadata.condition_values.get("kernel_events_lost", "0")
    return int(value) if value.isdecimal() else 0


def patterns(report: Report) -> list[Pattern]:
    """The recognised patterns, longest first."""
    if not report.trace.metadata.durations_recorded:
        return []
    makers = (_consolidation, _trimming, _lock, _storm, _threshold)
    return sorted(
        (pattern for maker in makers for pattern in maker(report)), key=lambda one: -one.duration_ns
    )


def _time_of(report: Report, cause: int) -> tuple[int, int]:
    """Calls that did this, and their CPU time."""
    rows = [row for row in report.facts.slow_calls if row.work == cause]
    return sum(row.calls for row in rows), sum(row.duration_ns - row.descheduled_ns for row in rows)


def _longest(report: Report, cause: int) -> SlowCall | None:
    """Of the slowest calls that did this, the one with most CPU time; None: none is known."""
    return max((call for call in report.facts.slowest if call.work == cause), key=_own_ns, default=None)


def _own_ns(call: SlowCall) -> int:
    return max(0, call.duration_ns - call.waited_ns - call.preempted_ns)


def _longest_ns(report: Report, cause: int) -> int:
    """CPU time of all calls that did this."""
    return max((row.longest_ns for row in report.facts.slow_calls if row.work == cause), default=0)


def _consolidation(report: Report) -> Iterator[Pattern]:
    calls, time_ns = _time_of(report, CONSOLIDATION)
    longest, longest_ns = _longest(report, CONSOLIDATION), _longest_ns(report, CONSOLIDATION)
    if time_ns < _WORTH_NS or longest is None:
        return
    maker = report.sites[report.sites.site_of_stack[longest.small_frees_stack]]
    whose = f", most of them from {site_name(maker)}" if longest.small_frees_stack else ""
    yield Pattern(
        "consolidation",
        time_ns,
        longest_ns,
        f"{units.counted(calls, 'call')} merged blocks left by small frees, each in up to "
        f"{units.duration(longest_ns)}; one, {KIND_NAMES[longest.kind]} of "
        f"{units.size(longest.size_bytes)} in {units.duration(_own_ns(longest))}, came after about "
        f"{units.count(longest.small_frees)} frees of blocks up to 120 B{whose}",
        "free in smaller batches, or give these blocks an arena; "
        + f"{FAST_BINS.to(0)}: {FAST_BINS.price}; glibc 2.43 and other allocators do not defer it",
    )


def _trimming(report: Report) -> Iterator[Pattern]:
    calls, time_ns = _time_of(report, TRIMMING)
    if time_ns >= _WORTH_NS:
        yield Pattern(
            "trim stall",
            time_ns,
            _longest_ns(report, TRIMMING),
            f"{units.counted(calls, 'call')} of malloc_trim took {units.duration(time_ns)} of CPU time: "
            "it locks each arena while it returns its pages",
            "call it when nothing waits, or not at all; an allocator that returns memory gradually does not "
            "need it",
        )


def _lock(report: Report) -> Iterator[Pattern]:
    kernel = report.facts.kernel
    busy_ns = report.facts.totals.allocator_ns + kernel.waited_ns
    # A wait while the recorder scans pages may be caused by that.
    own_ns = kernel.waited_ns - kernel.waited_in_scans_ns
    if kernel.waits < _FEW or own_ns < max(_WORTH_NS, _WORTH_SHARE * busy_ns):
        return
    sites, threads = report.facts.sites, sum(thread.allocations > 0 for thread in report.facts.threads)
    mapped = sum(site.allocations for site in sites if are_mapped(site))
    is_mapped = 2 * mapped > sum(site.allocations for site in sites)
    settings = report.allocator.settings
    is_short = 0 < (ARENA_MAX.number_in(settings) or 0) < threads and not is_mapped
    remedy = "keep blocks instead of freeing them" if is_mapped else "make fewer concurrent heap calls"
    remedy = f"raise {ARENA_MAX.name_in(settings)} or remove it" if is_short else remedy
    yield Pattern(
        "lock",
        kernel.waited_ns,
        max((call.waited_ns for call in report.facts.slowest), default=0),
        f"threads waited {units.count(kernel.waits)} times within heap calls, "
        f"{units.duration(kernel.waited_ns)} or {units.percent(share(kernel.waited_ns, busy_ns))} of the "
        "calls' time; the lock is not recorded: in a heap call it is the allocator's or the kernel's lock of "
        "the process's mappings"
        + (f"; {ARENA_MAX.set_in(settings)}, for {units.counted(threads, 'thread')}" if is_short else "")
        + ("; most blocks are mapped separately" if is_mapped else ""),
        f"{remedy}, or use an allocator with thread caches",
    )


def _storm(report: Report) -> Iterator[Pattern]:
    growths, all_ns = report.facts.heap_growths, report.facts.totals.allocator_ns
    calls, time_ns = sum(row.calls for row in growths), sum(row.duration_ns for row in growths)
    in_arenas = sum(row.arena_calls for row in growths)
    if calls < _STORM or time_ns < max(_WORTH_NS, _WORTH_SHARE * all_ns):
        return
    is_arena = in_arenas * 2 > calls
    yield Pattern(
        "growth in small steps",
        time_ns,
        _longest_ns(report, MAPPING),
        f"{units.count(calls)} heap calls grew the heap and took {units.duration(time_ns)}, "
        f"{units.percent(share(time_ns, all_ns))} of the time in the allocator"
        + (f"; {units.count(in_arenas)} grew a thread's arena by mprotect" if is_arena else ""),
        # glibc pads growth of its main heap, but pads an arena only when creating it.
        f"{TOP_PAD.to(64 << 20 if is_arena else 1 << 20)} "
        f"{'makes whole arenas accessible at once' if is_arena else 'makes the steps larger'}, together with "
        f"{thresholds(*keeping(report.facts.peak.live_usable_bytes))}: alone it fixes both at 128 KiB; or "
        "keep blocks instead of freeing them",
    )


def _threshold(report: Report) -> Iterator[Pattern]:
    """A raised threshold shows more in memory than in time: it saves mappings."""
    raises, later = report.facts.threshold_raises, report.facts.large_heap_blocks
    if not raises or later.calls == 0 or report.allocator.fixes_threshold:
        return
    last = raises[-1]
    site = report.sites[last.site]
    yield Pattern(
        "mmap threshold",
        0,
        0,
        f"the free at {units.duration(last.time_ns)} of a block from {site_name(site)} raised glibc's mmap "
        f"threshold from {units.size(FIRST_MMAP_THRESHOLD)} to {units.size(last.bytes)}; since then "
        f"{units.counted(later.calls, 'large block')} ({units.size(later.bytes)}) came from the heap, which "
        "shrinks only at its top",
        f"{thresholds(*GIVING)} prevents that, but {MMAP_THRESHOLD.price}; or reuse the block",
    )
