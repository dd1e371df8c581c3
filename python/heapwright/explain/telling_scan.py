# SPDX-License-Identifier: MIT
"""Which of the scans of resident memory stands for the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from heapwright.explain.cause_kinds import kinds_at
from heapwright.explain.idle_memory import BRIEF_SHARE, lasted_ns
from heapwright.explain.report import Report
from heapwright.model.facts import Residency

# So much of the most that is free counts as the most.
_NEARLY_AS_MUCH = 0.9


def telling_scan(report: Report) -> int:
    """The number of the one with the most that is free, unless only the teardown's; -1 without any."""

    def is_brief(number: int) -> bool:
        return lasted_ns(report, kinds_at(report, number), number) < BRIEF_SHARE * report.trace.end.time_ns

    return most_free(report.facts.residency, is_brief)


def most_free(moments: Sequence[Residency], is_brief: Callable[[int], bool]) -> int:
    """An end at which everything is freed hides neither what kept nearly as much before, nor what lived.

    is_brief: whether what is free at the scan of this number was free for a small part of the run alone.
    """

    def worth(number: int) -> tuple[int, int]:
        return free_bytes(moments[number]), moments[number].resident_bytes

    most = max(range(len(moments)), key=worth, default=-1)
    if most < 0 or not moments[most].is_last or len(moments) == 1:
        return most
    earlier = max((number for number in range(len(moments)) if number != most), key=worth)
    nearly = free_bytes(moments[earlier]) >= _NEARLY_AS_MUCH * free_bytes(moments[most])
    return earlier if nearly or is_brief(most) else most


def free_bytes(moment: Residency) -> int:
    """On pages with blocks, whole pages that held some, and what is there for its huge page alone."""
    return moment.partly_free_bytes + moment.free_page_bytes + moment.huge_unused_bytes
