# SPDX-License-Identifier: MIT
"""The note when not every call had room in its site's histograms."""

from __future__ import annotations

from heapwright.report import units
from heapwright.report.columns import Column

LEFT_OUT = Column(
    "left_out_calls",
    about="Allocations missing from the percentiles by site: there are too many sites and values. "
    "Minimum, maximum and sums still cover all calls.",
)


def part_of_calls(left_out: int, what: str) -> list[str]:
    """A note; none if all calls are included."""
    if not left_out:
        return []
    return [
        f"percentiles by site cover part of the calls: the {what} of "
        f"{units.counted(left_out, 'allocation')} had no room; select fewer calls "
        "(--site, --thread, --from, --until) for complete ones"
    ]
