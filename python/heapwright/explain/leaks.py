# SPDX-License-Identifier: MIT
"""What was never freed?"""

from __future__ import annotations

from heapwright.explain import look, tables, words
from heapwright.explain.report import Answer, Finding, Report, share, site_record

NAME = "leaks"
TITLE = "Still live at the end"


def answer(report: Report) -> Answer:
    """The blocks without a free, by site."""
    total_bytes = sum(facts.live_at_end_bytes for facts in report.facts.sites)
    return {
        "live_bytes": total_bytes,
        "live_blocks": sum(facts.live_at_end_blocks for facts in report.facts.sites),
        "share_of_peak": share(total_bytes, report.facts.peak.live_bytes),
        "sites": [
            {
                **site_record(site),
                "live_bytes": facts.live_at_end_bytes,
                "live_blocks": facts.live_at_end_blocks,
                "share": share(facts.live_at_end_bytes, total_bytes),
                "share_of_allocations": share(facts.live_at_end_blocks, facts.allocations),
            }
            for site, facts in report.top_sites(lambda facts: facts.live_at_end_bytes)
        ],
    }


def show(answer: Answer) -> look.RenderableType | None:
    """Largest first; the last number tells a leak from a cache."""
    return tables.by_site(
        answer,
        [
            ("bytes", lambda site: words.size(site["live_bytes"])),
            ("share", lambda site: words.percent(site["share"], 1)),
            ("blocks", lambda site: words.count(site["live_blocks"])),
            ("never freed", lambda site: words.percent(site["share_of_allocations"], 1)),
        ],
        words.size,
    )


def findings(answer: Answer) -> list[Finding]:
    """Memory that stayed, when it is a large part of the peak."""
    if answer["share_of_peak"] < 0.1 or not answer["sites"]:
        return []
    site = answer["sites"][0]
    text = (
        f"{words.size(answer['live_bytes'])} were live at the end "
        f"({words.percent(answer['share_of_peak'], 1)} of the peak), most from {site['name']}"
    )
    return [Finding(answer["share_of_peak"] * 0.9, text, NAME)]
