# SPDX-License-Identifier: MIT
"""Which scan of resident memory represents the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from heapwright.explain import teardown
from heapwright.explain.cause_kinds import kinds_at
from heapwright.explain.cause_words import WORTH_SHARE
from heapwright.explain.idle_memory import BRIEF_SHARE, Spans, free_spans, lasted_on_ns
from heapwright.explain.report import Report
from heapwright.model import KIND_NAMES
from heapwright.model.facts import Residency

# This share of the maximum counts as the maximum; this is no difference.
_NEARLY_AS_MUCH = 0.9
_EQUALLY_MUCH = 0.99
# What the program trims itself has stayed if it was free for this share of the run.
_TRIMMED_SHARE = 0.5


def telling_scan(report: Report) -> int:
    """The number of the scan with the most free memory, unless it is only the teardown's; -1 without any.

    If what was free at it was soon gone, one whose free memory stayed, if there is one with much. If the
    program gave it back itself, by malloc_trim, within half of the run, and none stayed: the last one
    with little that is free.
    If that is little compared to long-lasting resident memory, the last one with about the most resident.
    """
    run_ns = report.trace.end.time_ns
    moments = before_teardown(report)

    @cache
    def spans(number: int) -> Spans:
        return free_spans(report, kinds_at(report, number), number)

    def is_brief(number: int) -> bool:
        return sum(to_ns - from_ns for from_ns, to_ns in spans(number)) < BRIEF_SHARE * run_ns

    def passes(number: int) -> bool:
        is_trimmed = trims and bool(spans(number)) and spans(number)[-1][1] < run_ns
        share = _TRIMMED_SHARE if is_trimmed else BRIEF_SHARE
        return lasted_on_ns(spans(number), moments[number].time_ns) < share * run_ns

    trims = any(KIND_NAMES[row.kind] == "malloc_trim" for row in report.facts.by_kind)
    number = lasting(moments, most_free(moments, is_brief), passes)
    most = max((moment.resident_bytes for moment in moments), default=0)
    if trims and number >= 0 and passes(number):
        little = [at for at, moment in enumerate(moments) if free_bytes(moment) < WORTH_SHARE * most]
        return max(little, default=number)
    if number < 0 or free_bytes(moments[number]) >= WORTH_SHARE * most:
        return number
    if resident_ns(report, most / 2) < BRIEF_SHARE * run_ns:
        return number
    return max(at for at, moment in enumerate(moments) if moment.resident_bytes >= _NEARLY_AS_MUCH * most)


def before_teardown(report: Report) -> Sequence[Residency]:
    """The scans before the frees with which the process ends; all if there is none before."""
    moments = report.facts.residency
    begin_ns = teardown.begin_ns(report)
    before = [moment for moment in moments if moment.time_ns <= begin_ns]
    return before or moments


def resident_ns(report: Report, least_bytes: float) -> int:
    """How long this much was resident, by RSS samples."""
    samples = report.trace.memory_samples
    ends = [*(sample.time_ns for sample in samples[1:]), report.trace.end.time_ns]
    return sum(
        max(0, end_ns - sample.time_ns)
        for sample, end_ns in zip(samples, ends, strict=False)
        if sample.resident_anonymous_bytes + sample.resident_shared_bytes + sample.resident_file_bytes
        >= least_bytes
    )


def most_free(moments: Sequence[Residency], is_brief: Callable[[int], bool]) -> int:
    """Skips a teardown that would hide what kept nearly as much before, or what was live.

    is_brief: whether the scan's free memory was free for only a small part of the run.
    """

    if not moments:
        return -1
    most = _most_of(moments, range(len(moments)))
    if not moments[most].is_last or len(moments) == 1:
        return most
    earlier = _most_of(moments, [number for number in range(len(moments)) if number != most])
    nearly = free_bytes(moments[earlier]) >= _NEARLY_AS_MUCH * free_bytes(moments[most])
    return earlier if nearly or is_brief(most) else most


def lasting(moments: Sequence[Residency], number: int, passes: Callable[[int], bool]) -> int:
    """This scan. If its free memory was soon gone: the one with the most that stayed, if it is a quarter of
    the highest resident size.

    A program frees much, then trims: the cause of what it has free for a second is not that of the rest.
    passes: whether the scan's free memory was free without a break for only a small part of the run.
    """
    if number < 0 or not passes(number):
        return number
    least = WORTH_SHARE * max(moment.resident_bytes for moment in moments)
    staying = [at for at in range(len(moments)) if free_bytes(moments[at]) >= least and not passes(at)]
    return _most_of(moments, staying) if staying else number


def _most_of(moments: Sequence[Residency], numbers: Sequence[int]) -> int:
    """The scan with the most free memory.

    Among equals, the one with the most resident memory, then the later: during the first the program may
    still have been filling its memory.
    """
    most = max(free_bytes(moments[number]) for number in numbers)
    alike = [number for number in numbers if free_bytes(moments[number]) >= _EQUALLY_MUCH * most]
    return max(alike, key=lambda number: (moments[number].resident_bytes, number))


def free_bytes(moment: Residency) -> int:
    """Free memory on pages with blocks, whole free pages, and the unused part of huge pages; without as much
    as blocks that changed while their pages were scanned, which may have been there."""
    free = moment.partly_free_bytes + moment.free_page_bytes + moment.huge_unused_bytes
    return max(0, free - moment.ambiguous_bytes)
