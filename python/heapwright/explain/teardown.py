# SPDX-License-Identifier: MIT
"""How a program ends: the runs of frees before its exit."""

from __future__ import annotations

from itertools import pairwise

from heapwright.explain.report import Report
from heapwright.model.facts import ReleaseRun

_LARGEST_GAP = 0.25  # of the following runs: other work at exit
_ANY_GAP_NS = 50_000_000  # the thread was preempted, or waited for the recorder
_MOST_ALLOCATIONS = 0.05  # per free, from the first of them to the end
# What a program still does after it has freed all it had: a smaller part of its run than this. A service
# at rest is longer so.
_REST_SHARE, _REST_NS = 0.25, 10_000_000_000
_MOST_LEFT, _LEAST_FREED = 0.05, 0.25  # of the peak


def last_runs(report: Report) -> list[ReleaseRun]:
    """The runs of frees at the end of a process that was recorded to its exit."""
    if not _is_seen_to_its_exit(report):
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


def _is_seen_to_its_exit(report: Report) -> bool:
    return bool(
        report.trace.end.reason == "exited"
        and report.facts.coverage.has_end
        and report.chosen.to_ns >= report.trace.end.time_ns
        and report.facts.timeline
    )


def begin_ns(report: Report) -> int:
    """When the frees begin with which the process ends; its end without any. Also where it computes or waits
    for a while after them, if they left next to nothing: nobody needs that memory back."""
    runs_ns = min((run.begin_ns for run in last_runs(report)), default=report.trace.end.time_ns)
    return min(runs_ns, _emptying_ns(report)) if _is_seen_to_its_exit(report) else runs_ns


def _emptying_ns(report: Report) -> int:
    """By the steps of the timeline: a busy machine breaks runs of frees into pieces."""
    points, end_ns, peak_bytes = report.facts.timeline, report.trace.end.time_ns, report.facts.peak.live_bytes
    full = [number for number, point in enumerate(points) if point.live_bytes > _MOST_LEFT * peak_bytes]
    if not full or full[-1] == len(points) - 1:
        return end_ns
    number = full[-1] + 1
    rest_ns = min(_REST_NS, _REST_SHARE * end_ns)
    if end_ns - points[number].time_ns > rest_ns:
        return end_ns
    allocations = sum(point.allocations for point in points[number:])
    releases = sum(point.releases for point in points[number:])
    busy_ns = points[number].time_ns  # of the earliest step with calls so far: before a rest it did not end
    while number > 0 and allocations <= _MOST_ALLOCATIONS * releases:
        number -= 1
        allocations += points[number].allocations
        releases += points[number].releases
        if points[number].allocations or points[number].releases:
            busy_ns = points[number].time_ns
        elif busy_ns - points[number].time_ns > rest_ns:
            break
    while number + 1 < len(points) and not points[number + 1].releases:
        number += 1
    is_much = points[number].live_bytes >= _LEAST_FREED * peak_bytes
    return points[number].time_ns if is_much else end_ns
