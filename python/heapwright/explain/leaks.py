# SPDX-License-Identifier: MIT
"""What was never freed?"""

from __future__ import annotations

from heapwright.explain import coverage, look, tables, words
from heapwright.explain.report import Answer, Finding, Report, share, site_record
from heapwright.model import SiteFacts

NAME = "leaks"
TITLE = "Still live at the end"


def title(answer: Answer) -> str:
    """Live at the end of the process only when that was recorded."""
    return TITLE if answer["live_at"] == coverage.AT_END else f"Live {coverage.when(answer['live_at'])}"


def answer(report: Report) -> Answer:
    """The blocks without a free, by site.

    may_be_freed_*: of those, blocks whose free may lie outside of what was recorded; no leaks.
    """
    moment = coverage.live_at(report)
    is_end = moment == coverage.AT_END

    def may_be_freed(facts: SiteFacts) -> Answer:
        return {
            "may_be_freed_bytes": facts.live_at_pause_bytes if is_end else facts.live_at_end_bytes,
            "may_be_freed_blocks": facts.live_at_pause_blocks if is_end else facts.live_at_end_blocks,
        }

    unsure = [may_be_freed(facts) for facts in report.facts.sites]
    total_bytes = sum(facts.live_at_end_bytes for facts in report.facts.sites)
    return {
        "live_at": moment,
        "may_be_freed_bytes": sum(site["may_be_freed_bytes"] for site in unsure),
        "may_be_freed_blocks": sum(site["may_be_freed_blocks"] for site in unsure),
        "live_bytes": total_bytes,
        "live_blocks": sum(facts.live_at_end_blocks for facts in report.facts.sites),
        "share_of_peak": share(total_bytes, report.facts.peak.live_bytes),
        "sites": [
            {
                **site_record(site),
                "live_bytes": facts.live_at_end_bytes,
                "live_blocks": facts.live_at_end_blocks,
                **may_be_freed(facts),
                "share": share(facts.live_at_end_bytes, total_bytes),
                "share_of_allocations": share(facts.live_at_end_blocks, facts.allocations),
            }
            for site, facts in report.top_sites(lambda facts: facts.live_at_end_bytes)
        ],
    }


def show(answer: Answer) -> look.RenderableType | None:
    """Largest first; the last number tells a leak from a cache."""
    is_end = answer["live_at"] == coverage.AT_END
    columns: list[tables.Column] = [
        ("bytes", lambda site: words.size(site["live_bytes"])),
        ("share", lambda site: words.percent(site["share"], 1)),
        ("blocks", lambda site: words.count(site["live_blocks"])),
        (
            "never freed" if is_end else "not yet freed",
            lambda site: words.percent(site["share_of_allocations"], 1),
        ),
    ]
    if is_end and answer["may_be_freed_blocks"]:
        columns.append(("live when paused", lambda site: words.size(site["may_be_freed_bytes"])))
    return tables.by_site(answer, columns, words.size)


def findings(answer: Answer) -> list[Finding]:
    """Memory that stayed, when it is a large part of the peak."""
    if answer["share_of_peak"] < 0.1 or not answer["sites"]:
        return []
    site = answer["sites"][0]
    text = (
        f"{words.size(answer['live_bytes'])} were live {coverage.when(answer['live_at'])} "
        f"({words.percent(answer['share_of_peak'], 1)} of the peak), most from {site['name']}"
    )
    weight = 0.9 if answer["live_at"] == coverage.AT_END else 0.3  # what still lives need not stay
    return [Finding(answer["share_of_peak"] * weight, text, NAME)]
