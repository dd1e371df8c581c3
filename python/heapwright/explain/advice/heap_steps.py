# SPDX-License-Identifier: MIT
"""A heap that grows, or shrinks and grows again, in small steps: use larger ones."""

from __future__ import annotations

from collections.abc import Iterator

from heapwright.explain.advice.evidence import Evidence
from heapwright.explain.advice.rule import HIGH, LOW, MEDIUM, Advice, Rule
from heapwright.explain.settings import MMAP_THRESHOLD, TOP_PAD, TRIM_THRESHOLD, thresholds_replayed
from heapwright.model import KIND_NAMES
from heapwright.report import units

_LEAST_GROWTHS = 200
_STEP_BYTES = 132 << 10  # glibc grows its main heap by at least this
_TIMES_OVER = 2
_MOST_SITES = 5


def _find(of: Evidence) -> Iterator[Advice]:
    growths = of.facts.heap_growths
    calls, time_ns = sum(row.calls for row in growths), sum(row.duration_ns for row in growths)
    settings = of.report.allocator.settings
    if not of.has_times or calls < _LEAST_GROWTHS or TOP_PAD.value_in(settings):
        return
    in_arenas = sum(row.arena_calls for row in growths)
    shrinks = (calls - in_arenas) * _STEP_BYTES >= _TIMES_OVER * max(of.peak_bytes, 1)
    stays_ns = 0 if shrinks else _least_fault_ns(of, time_ns)
    sure, why = HIGH if shrinks or 2 * in_arenas > calls else MEDIUM, "the kernel's records show each growth"
    doubt = _doubt(of)
    yield Advice(
        tuple(row.site for row in growths[:_MOST_SITES]),
        f"{units.count(calls)} calls grew the heap, {units.duration(time_ns / calls)} each",
        (
            f"{units.count(in_arenas)} of them in thread arenas, which grow by the requested size",
            f"{units.size((calls - in_arenas) * _STEP_BYTES)} at least in the main heap, whose peak was "
            f"{units.size(of.peak_bytes)}: it shrank in between"
            if shrinks
            else "the main heap grew by no more than its peak",
        ),
        "the calls that grew the heap; "
        + (
            "first touches of the new pages and the frees that shrank it may go as well"
            if shrinks
            else f"{units.duration(stays_ns)} of their page faults remain and are not counted"
        ),
        LOW if doubt else sure,
        f"{why}; but {doubt}" if doubt else why,
        time_ns - stays_ns,
        replay_set=""
        if any(one.is_by_program(settings) for one in (TOP_PAD, TRIM_THRESHOLD, MMAP_THRESHOLD))
        else f"{thresholds_replayed(512 << 20, 32 << 20)},{TOP_PAD.tunable}={64 << 20}",
    )


def _doubt(of: Evidence) -> str:
    """What larger steps may cost, or why they have no effect; "" = nothing known."""
    rows = {KIND_NAMES[row.kind]: row for row in of.facts.by_kind}
    if "malloc_trim" in rows:
        return "the program calls malloc_trim, which shrinks the heap regardless of settings"
    if "calloc" in rows and 2 * rows["calloc"].bytes >= of.facts.totals.requested_bytes > 0:
        return "half or more is calloc's: it must clear reused memory, while new pages are zero"
    return ""


def _least_fault_ns(of: Evidence, time_ns: int) -> int:
    """The part of the page fault time within heap calls that must be in calls of this total time."""
    others_ns = max(0, of.facts.totals.allocator_ns - time_ns)
    return min(time_ns, max(0, of.facts.kernel.fault_ns - others_ns))


_ACTION = (
    f"run it with {TOP_PAD.to(64 << 20)} {TRIM_THRESHOLD.to(512 << 20)} {MMAP_THRESHOLD.to(32 << 20)}, or "
    "call mallopt; or keep the blocks"
)
RULE = Rule(
    "heap_steps",
    "",
    _ACTION,
    _find,
    (
        f"the memory must be returned to the kernel soon: {TRIM_THRESHOLD.price}",
        "the run is short, or the growth is warm-up",
        f"{MMAP_THRESHOLD.variable} is left out: either of the others fixes it at 128 KiB, and larger blocks "
        "are then mapped one by one",
    ),
    _ACTION,
    prelude="""\
#include <malloc.h>
void work();""",
    before="""\
work();  // repeatedly allocates much and frees it: the heap shrinks and grows""",
    after="""\
mallopt(M_TOP_PAD, 64 << 20);
mallopt(M_TRIM_THRESHOLD, 512 << 20);
mallopt(M_MMAP_THRESHOLD, 32 << 20);
work();""",
    unsampled="sampled calls are slower: their times say nothing about other calls",
    stands_beside=True,
    is_least=True,
)
