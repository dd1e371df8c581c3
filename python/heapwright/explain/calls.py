# SPDX-License-Identifier: MIT
"""Which sites allocate most often?"""

from __future__ import annotations

from heapwright.explain.question import Question
from heapwright.explain.report import Answer, Finding, share
from heapwright.explain.tables import sites
from heapwright.model import SiteFacts
from heapwright.report import units
from heapwright.report.columns import OPEN, Column


def _mean_lifetime(site: SiteFacts, _: Answer) -> int | None:
    return site.lifetime_sum_ns // site.freed if site.freed else None


def _lifetime_text(site: Answer, _: Answer) -> str:
    mean = site["mean_lifetime_ns"]
    return "not freed" if mean is None else units.duration(mean)


def _findings(answer: Answer) -> list[Finding]:
    """A site that makes a large part of all calls."""
    for site in answer["sites"][:1]:
        if site["share"] >= 0.25 and answer["allocations"] >= 10_000:
            text = f"{units.percent(site['share'])} of all allocations come from {site['name']}"
            return [Finding(site["share"] * 0.6, text)]
    return []


def _gist(answer: Answer) -> str:
    for site in answer["sites"][:1]:
        return f"{units.count(answer['allocations'])}, {units.percent(site['share'])} by {site['name']}"
    return ""


QUESTION = Question(
    "calls",
    "Most allocations",
    (Column("allocations", value="facts.totals.allocations", sampled="allocations"),),
    (
        sites(
            Column("allocations", "count", "calls", sampled="allocations"),
            Column("share", "share", "share", lambda site, of: share(site.allocations, of["allocations"])),
            Column("bytes", "bytes", "bytes", sampled="bytes"),
            Column("mean_lifetime_ns", "ns", "mean life", _mean_lifetime, _lifetime_text, sampled=OPEN),
            most=lambda site: site.allocations,
        ),
    ),
    findings=_findings,
    gist=_gist,
)
