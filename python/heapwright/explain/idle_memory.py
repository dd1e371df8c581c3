# SPDX-License-Identifier: MIT
"""How long memory was free: memory that is soon reused was not."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

from heapwright.explain.cause_kinds import Kinds
from heapwright.explain.report import Report

Spans = list[tuple[int, int]]  # from and to, ns

# Memory needed again within this time, or this share of the run, is in use.
_SOON_NS = 1_000_000_000
_SOON_SHARE = 0.1


# Free for a smaller part of the run than this: freed at the end, or briefly.
BRIEF_SHARE = 0.1


def soon_ns(report: Report) -> int:
    """Memory needed again within this time was not idle."""
    return max(_SOON_NS, round(_SOON_SHARE * report.trace.end.time_ns))


def taken_again_bytes(report: Report, kinds: Kinds) -> int:
    """The free memory at this scan that blocks need again soon: returning it gains nothing for long."""
    moment, points = kinds.moment, report.facts.timeline
    first = bisect_right([point.time_ns for point in points], moment.time_ns)
    soon = [point for point in points[first:] if point.time_ns <= moment.time_ns + soon_ns(report)]
    if not soon:
        return 0
    # Of the step containing the scan, only the end is known to come after it.
    needed = max(soon[0].live_usable_bytes, *(point.usable_at_highest_bytes for point in soon[1:]), 0)
    resident = points[max(0, first - 1)].resident_bytes
    beside = max(0, max(point.resident_bytes for point in soon) - resident)  # not from free memory
    return min(kinds.free_bytes, max(0, needed - moment.live_bytes - moment.rounding_bytes - beside))


def lasted_ns(report: Report, kinds: Kinds, scan: int) -> int:
    """How long at least half as much as at this scan was free, by samples of the RSS; approximate."""
    return sum(to_ns - from_ns for from_ns, to_ns in free_spans(report, kinds, scan))


def lasted_on_ns(spans: Spans, at_ns: int) -> int:
    """The length of the span around this time, usually the scan's; 0 if there is none."""
    return next((to_ns - from_ns for from_ns, to_ns in spans if from_ns <= at_ns <= to_ns), 0)


def free_spans(report: Report, kinds: Kinds, scan: int) -> Spans:
    """When at least half as much as at this scan was free: in order, with breaks in between."""
    owners = report.facts.resident_owners
    of_others = sum(owner.anonymous_bytes for owner in owners if owner.scan == scan)
    anonymous_bytes = kinds.moment.resident_bytes - kinds.moment.other_bytes + of_others
    samples, points, end_ns = report.trace.memory_samples, report.facts.timeline, report.trace.end.time_ns
    if not samples or not points:
        return []
    # Untouched memory is also live.
    beside = anonymous_bytes - kinds.moment.live_bytes - kinds.moment.rounding_bytes - kinds.free_bytes
    # Both are known when they changed: samples while RSS changes, points while there are calls.
    seen = [sample.time_ns for sample in samples]
    times = [point.time_ns for point in points]
    highest = [max(point.usable_at_highest_bytes, point.live_usable_bytes) for point in points]
    soon = soon_ns(report)
    spans: Spans = []
    for from_ns, to_ns in pairwise(sorted({*seen, *times, end_ns})):
        resident = samples[max(0, bisect_right(seen, from_ns) - 1)].resident_anonymous_bytes
        first = max(0, bisect_right(times, from_ns) - 1)
        needed = max(
            points[first].live_usable_bytes,
            *highest[first + 1 : max(first + 1, bisect_right(times, from_ns + soon))],
            0,
        )
        if resident - needed - beside < kinds.free_bytes / 2:
            continue
        goes_on = spans and spans[-1][1] == from_ns
        spans.append((spans.pop()[0] if goes_on else from_ns, to_ns))
    return spans
