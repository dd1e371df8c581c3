# SPDX-License-Identifier: MIT
"""Runs of frees: those with which the process ends, and those that are pauses before."""

from __future__ import annotations

from itertools import pairwise

from heapwright.explain.advice.evidence import Evidence
from heapwright.model.facts import ReleaseRun

_LARGEST_GAP = 0.25  # of the following runs: other work at exit
_ANY_GAP_NS = 50_000_000  # the thread was preempted, or waited for the recorder
_MOST_ALLOCATIONS = 0.05  # per free, from the first of them to the end


def last_runs(of: Evidence) -> list[ReleaseRun]:
    """The runs of frees at the end of a process that was recorded to its exit."""
    report = of.report
    if (
        report.trace.end.reason != "exited"
        or not of.facts.coverage.has_end
        or report.chosen.to_ns < report.trace.end.time_ns
    ):
        return []
    found: list[ReleaseRun] = []
    begin_ns, spans_ns = report.trace.end.time_ns, 0
    for run in sorted(of.facts.release_runs, key=lambda run: -run.end_ns):
        span_ns = run.end_ns - run.begin_ns
        if begin_ns - run.end_ns > max(_ANY_GAP_NS, _LARGEST_GAP * (spans_ns + span_ns)):
            break
        found.append(run)
        spans_ns += span_ns
        begin_ns = min(begin_ns, run.begin_ns)
    # The step in which they begin also has earlier calls.
    steps = [step for before, step in pairwise(of.facts.timeline) if before.time_ns >= begin_ns]
    allocations = sum(step.allocations for step in steps)
    is_end = allocations <= _MOST_ALLOCATIONS * sum(step.releases for step in steps)
    return found if is_end else []


def span_ns(of: Evidence, run: ReleaseRun) -> int:
    """Duration of the run of frees with destructors, minus the recorder's time."""
    return max(0, run.end_ns - run.begin_ns - int(run.blocks * of.release_cost_ns))
