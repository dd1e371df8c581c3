# SPDX-License-Identifier: MIT
"""The resident memory at any time, interpolated between scans."""

from __future__ import annotations

from heapwright.explain.report import Report
from heapwright.model.facts import Residency
from heapwright.model.trace import NO_LIMIT

_SUMS = tuple(name for name in Residency._fields if name.endswith("_bytes") or name == "live_blocks")


def asked_moment(report: Report) -> tuple[Residency, int, bool] | None:
    """The sums at Report.at_ns, the nearest joined scan's number, and whether it is between two scans.

    None: no time was requested, or there is no scan. Before the first or after the last scan, that scan's.
    """
    moments = report.facts.residency
    if report.at_ns == NO_LIMIT or not moments:
        return None
    before = next((index for index, of in enumerate(moments) if of.is_before_asked), -1)
    after = next((index for index, of in enumerate(moments) if of.is_after_asked), -1)
    if before < 0 or after < 0:
        number = max(before, after)
        return moments[number], number, False
    first, second = moments[before], moments[after]
    part = (report.at_ns - first.time_ns) / max(1, second.time_ns - first.time_ns)
    part = min(1.0, max(0.0, part))
    sums = {name: _between(getattr(first, name), getattr(second, name), part) for name in _SUMS}
    sums["other_bytes"] += sums["resident_bytes"] - _sum_of(sums)
    flags = dict.fromkeys(
        (
            "is_largest",
            "is_at_live_peak",
            "is_most_free",
            "is_most_free_before_last",
            "is_last",
            "is_before_asked",
            "is_after_asked",
        ),
        0,
    )
    moment = first._replace(time_ns=report.at_ns, duration_ns=0, **sums, **flags)
    return moment, before if part <= 0.5 else after, True


def _between(first: int, second: int, part: float) -> int:
    return round(first + (second - first) * part)


def _sum_of(sums: dict[str, int]) -> int:
    parts = ("live", "rounding", "partly_free", "free_page", "allocator", "other")
    return sum(sums[f"{name}_bytes"] for name in parts) - sums["untouched_bytes"]
