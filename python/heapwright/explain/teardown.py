# SPDX-License-Identifier: MIT
"""How a program ends: the runs of frees before its exit."""

from __future__ import annotations

from itertools import pairwise

from heapwright.explain.report import Report
from heapwright.model.facts import ReleaseRun

_LARGEST_GAP = 0.25  # of the following runs: other work at exit
_ANY_GAP_NS = 50_000_000  # the thread was preempted, or waited for the recorder
_MOST_ALLOCATIONS = 0.05  # per free, from the first of them to the end


def last_runs(report: Report) -> list[ReleaseRun]:
    """The runs of frees at the end of a process that was recorded to its exit."""
    if (
        report.trace.end.reason != "exited"
        or not report.facts.coverage.has_end
        or report.chosen.to_ns < report.trace.end.time_ns
    ):
        return []
    found: list[ReleaseRun] = []
    begin_ns, spans_ns = report.trace.end.time_ns, 0
    for run in sorted(report.facts.release_runs, key=lambda run: -run.end_ns):
        span_ns = run.end_ns - run.begin_ns
        if begin_ns - run.end_ns > max(_ANY_GAP_NS, _LARGEST_GAP * (spans_ns + span_ns)):
            break
        found.append(run)
        spans_ns += span_ns
        begin_ns = min(begin_ns, run.begin_ns)
    # The step in which they begin also has earlier calls.
    steps = [step for before, step in pairwise(report.facts.timeline) if before.time_ns >= begin_ns]
    allocations = sum(step.allocations for step in steps)
    is_end = allocations <= _MOST_ALLOCATIONS * sum(step.releases for step in steps)
    return found if is_end else []


def begin_ns(report: Report) -> int:
    """When the frees begin with which the process ends; its end without any."""
    return min((run.begin_ns for run in last_runs(report)), default=report.trace.end.time_ns)
