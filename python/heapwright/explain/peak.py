# SPDX-License-Identifier: MIT
"""Which sites held the memory when the heap was largest?"""

from __future__ import annotations

from heapwright.explain.question import Question
from heapwright.explain.report import Answer, Finding, share
from heapwright.explain.tables import sites
from heapwright.report import units
from heapwright.report.columns import OPEN, Column, added_later


def _findings(answer: Answer) -> list[Finding]:
    """A site that holds a large part of the peak."""
    for site in answer["sites"][:1]:
        if site["share"] >= 0.1:
            text = f"{units.percent(site['share'])} of the peak is held by {site['name']}"
            return [Finding(site["share"], text)]
    return []


def _gist(answer: Answer) -> str:
    for site in answer["sites"][:1]:
        return f"{units.size(answer['live_bytes'])}, {units.percent(site['share'])} of it in {site['name']}"
    return ""


QUESTION = Question(
    "peak",
    "Live at the peak",
    (
        Column("time_ns", "ns", value="facts.peak.time_ns"),
        Column("live_bytes", "bytes", value="facts.peak.live_bytes", sampled="peak_bytes"),
        Column("live_usable_bytes", "bytes", value="facts.peak.live_usable_bytes", sampled=OPEN),
        Column("live_blocks", value="facts.peak.live_blocks", sampled="peak_blocks"),
        Column("intervals_are", "text", value=added_later),
    ),
    (
        sites(
            Column("live_bytes", "bytes", "bytes", "live_at_peak_bytes", sampled="peak_bytes"),
            Column(
                "share", "share", "share", lambda site, of: share(site.live_at_peak_bytes, of["live_bytes"])
            ),
            Column("live_blocks", "count", "blocks", "live_at_peak_blocks", sampled="peak_blocks"),
            most=lambda site: site.live_at_peak_bytes,
        ),
    ),
    findings=_findings,
    paths=("live_at_peak_bytes",),
    gist=_gist,
)
