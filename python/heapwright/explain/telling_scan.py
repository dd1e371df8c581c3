# SPDX-License-Identifier: MIT
"""Which of the scans of resident memory stands for the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from heapwright.explain.cause_kinds import kinds_at
from heapwright.explain.cause_words import WORTH_SHARE
from heapwright.explain.idle_memory import BRIEF_SHARE, lasted_ns
from heapwright.explain.report import Report
from heapwright.model.facts import Residency

# So much of the most counts as the most; so much is no difference.
_NEARLY_AS_MUCH = 0.9
_EQUALLY_MUCH = 0.99


def telling_scan(report: Report) -> int:
    """The number of the one with the most that is free, unless only the teardown's; -1 without any.

    Where that is little beside what was resident for long, the last one with about the most resident.
    """

    def is_brief(number: int) -> bool:
        return lasted_ns(report, kinds_at(report, number), number) < BRIEF_SHARE * report.trace.end.time_ns

    moments = report.facts.residency
    number = most_free(moments, is_brief)
    most = max((moment.resident_bytes for moment in moments), default=0)
    if number < 0 or free_bytes(moments[number]) >= WORTH_SHARE * most:
        return number
    if resident_ns(report, most / 2) < BRIEF_SHARE * report.trace.end.time_ns:
        return number
    return max(at for at, moment in enumerate(moments) if moment.resident_bytes >= _NEARLY_AS_MUCH * most)


def resident_ns(report: Report, least_bytes: float) -> int:
    """For how long so much was resident, by samples of the resident set."""
    samples = report.trace.memory_samples
    ends = [*(sample.time_ns for sample in samples[1:]), report.trace.end.time_ns]
    return sum(
        max(0, end_ns - sample.time_ns)
        for sample, end_ns in zip(samples, ends, strict=False)
        if sample.resident_anonymous_bytes + sample.resident_shared_bytes + sample.resident_file_bytes
        >= least_bytes
    )


def most_free(moments: Sequence[Residency], is_brief: Callable[[int], bool]) -> int:
    """An end at which everything is freed hides neither what kept nearly as much before, nor what lived.

    is_brief: whether what is free at the scan of this number was free for a small part of the run alone.
    """

    if not moments:
        return -1
    most = _most_of(moments, range(len(moments)))
    if not moments[most].is_last or len(moments) == 1:
        return most
    earlier = _most_of(moments, [number for number in range(len(moments)) if number != most])
    nearly = free_bytes(moments[earlier]) >= _NEARLY_AS_MUCH * free_bytes(moments[most])
    return earlier if nearly or is_brief(most) else most


def _most_of(moments: Sequence[Residency], numbers: Sequence[int]) -> int:
    """Of these, the one with the most that is free.

    Of scans with equally much the one with the most resident, then the later: during the first the program
    may have still filled its memory.
    """
    most = max(free_bytes(moments[number]) for number in numbers)
    alike = [number for number in numbers if free_bytes(moments[number]) >= _EQUALLY_MUCH * most]
    return max(alike, key=lambda number: (moments[number].resident_bytes, number))


def free_bytes(moment: Residency) -> int:
    """On pages with blocks, whole pages that held some, and what is there for its huge page alone."""
    return moment.partly_free_bytes + moment.free_page_bytes + moment.huge_unused_bytes
