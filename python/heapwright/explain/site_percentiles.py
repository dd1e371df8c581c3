# SPDX-License-Identifier: MIT
"""What is said where not every call found room in the histograms of its site."""

from __future__ import annotations

from heapwright.report import units
from heapwright.report.columns import Column

LEFT_OUT = Column(
    "left_out_calls",
    about="Allocations that are in no percentile by site: more sites and values than there is room for. "
    "Smallest, largest and sums are of all calls nevertheless.",
)


def part_of_calls(left_out: int, what: str) -> list[str]:
    """A line for people; none when all calls are in."""
    if not left_out:
        return []
    return [
        f"percentiles by site are of a part of the calls: the {what} of "
        f"{units.counted(left_out, 'allocation')} found no room; look at fewer calls "
        "(--site, --thread, --from, --until) for all of them"
    ]
