# SPDX-License-Identifier: MIT
"""For how long memory was free: what is soon needed again was not."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

from heapwright.explain.cause_kinds import Kinds
from heapwright.explain.report import Report

# Needed again within so much time, or so much of the run, is in use.
_SOON_NS = 1_000_000_000
_SOON_SHARE = 0.1


# Free for a smaller part of the run than this: it came free at the end, or in passing.
BRIEF_SHARE = 0.1


def lasted_ns(report: Report, kinds: Kinds, scan: int) -> int:
    """For how long at least half as much as at this scan was free, by samples of the resident set; about."""
    owners = report.facts.resident_owners
    of_others = sum(owner.anonymous_bytes for owner in owners if owner.scan == scan)
    anonymous_bytes = kinds.moment.resident_bytes - kinds.moment.other_bytes + of_others
    samples, points, end_ns = report.trace.memory_samples, report.facts.timeline, report.trace.end.time_ns
    if not samples or not points:
        return 0
    # What was never touched is live, too.
    beside = anonymous_bytes - kinds.moment.live_bytes - kinds.moment.rounding_bytes - kinds.free_bytes
    # Both are known where they changed: samples while the set moves, points while there are calls.
    seen = [sample.time_ns for sample in samples]
    times = [point.time_ns for point in points]
    live = [point.live_usable_bytes for point in points]
    soon_ns = max(_SOON_NS, round(_SOON_SHARE * end_ns))
    moments = sorted({*seen, *times, end_ns})
    lasted = 0
    for from_ns, to_ns in pairwise(moments):
        resident = samples[max(0, bisect_right(seen, from_ns) - 1)].resident_anonymous_bytes
        first = max(0, bisect_right(times, from_ns) - 1)
        needed = max(live[first : max(first + 1, bisect_right(times, from_ns + soon_ns))])
        if resident - needed - beside >= kinds.free_bytes / 2:
            lasted += to_ns - from_ns
    return lasted
