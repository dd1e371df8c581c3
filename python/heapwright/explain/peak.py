# SPDX-License-Identifier: MIT
"""Which sites held the memory when the heap was largest?"""

from __future__ import annotations

from heapwright.explain import look, tables
from heapwright.explain.report import Answer, Finding, Report, share, site_record
from heapwright.report import units

NAME = "peak"
TITLE = "What lived at the peak"


def answer(report: Report) -> Answer:
    """The moment and its sites."""
    peak = report.facts.peak
    return {
        "time_ns": peak.time_ns,
        "live_bytes": peak.live_bytes,
        "live_usable_bytes": peak.live_usable_bytes,
        "live_blocks": peak.live_blocks,
        "sites": [
            {
                **site_record(site),
                "live_bytes": facts.live_at_peak_bytes,
                "live_blocks": facts.live_at_peak_blocks,
                "share": share(facts.live_at_peak_bytes, peak.live_bytes),
            }
            for site, facts in report.top_sites(lambda facts: facts.live_at_peak_bytes)
        ],
    }


def show(answer: Answer) -> look.RenderableType | None:
    """Largest first."""
    return tables.by_site(
        answer,
        [
            ("bytes", lambda site: units.size(site["live_bytes"])),
            ("share", lambda site: units.percent(site["share"], 1)),
            ("blocks", lambda site: units.count(site["live_blocks"])),
        ],
        units.size,
    )


def findings(answer: Answer) -> list[Finding]:
    """One site that makes a large part of the peak."""
    for site in answer["sites"][:1]:
        if site["share"] >= 0.1:
            text = f"{units.percent(site['share'], 1)} of the peak is held by {site['name']}"
            return [Finding(site["share"], text, NAME)]
    return []
