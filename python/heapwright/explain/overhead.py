# SPDX-License-Identifier: MIT
"""Where does the allocator round sizes up?"""

from __future__ import annotations

from heapwright.explain import look, tables
from heapwright.explain.report import Answer, Finding, Report, share, site_record
from heapwright.report import units

NAME = "overhead"
TITLE = "Overhead: usable minus requested bytes"


def answer(report: Report) -> Answer:
    """Overhead over all allocations, by site."""
    totals, peak = report.facts.totals, report.facts.peak
    return {
        "overhead_bytes": max(0, totals.usable_bytes - totals.requested_bytes),
        "requested_bytes": totals.requested_bytes,
        "at_peak_bytes": max(0, peak.live_usable_bytes - peak.live_bytes),
        "share_at_peak": share(peak.live_usable_bytes - peak.live_bytes, peak.live_usable_bytes),
        "sites": [
            {
                **site_record(site),
                "overhead_bytes": facts.overhead_bytes,
                "share_of_site": share(facts.overhead_bytes, facts.bytes + facts.overhead_bytes),
                "mean_bytes": facts.overhead_bytes / max(1, facts.allocations),
            }
            for site, facts in report.top_sites(lambda facts: facts.overhead_bytes)
        ],
    }


def show(answer: Answer) -> look.RenderableType | None:
    """Largest first."""
    return tables.by_site(
        answer,
        [
            ("overhead", lambda site: units.size(site["overhead_bytes"])),
            ("of the site", lambda site: units.percent(site["share_of_site"], 1)),
            ("per block", lambda site: f"{site['mean_bytes']:.1f} B"),
        ],
    )


def findings(answer: Answer) -> list[Finding]:
    """Rounding that costs a visible part of the peak."""
    if answer["share_at_peak"] < 0.1:
        return []
    text = (
        f"{units.size(answer['at_peak_bytes'])} of the peak ({units.percent(answer['share_at_peak'], 1)}) "
        "is rounding up by the allocator"
    )
    return [Finding(answer["share_at_peak"] * 0.8, text, NAME)]
