# SPDX-License-Identifier: MIT
"""Which sites allocate most often?"""

from __future__ import annotations

from heapwright.explain import look, tables
from heapwright.explain.report import Answer, Finding, Report, share, site_record
from heapwright.report import units

NAME = "calls"
TITLE = "Most allocations"


def answer(report: Report) -> Answer:
    """Allocations by site, and how long their blocks lived."""
    total = report.facts.totals.allocations
    return {
        "allocations": total,
        "sites": [
            {
                **site_record(site),
                "allocations": facts.allocations,
                "share": share(facts.allocations, total),
                "bytes": facts.bytes,
                "mean_lifetime_ns": facts.lifetime_sum_ns // facts.freed if facts.freed else None,
            }
            for site, facts in report.top_sites(lambda facts: facts.allocations)
        ],
    }


def show(answer: Answer) -> look.RenderableType | None:
    """Most first."""

    def lifetime(site: Answer) -> str:
        mean = site["mean_lifetime_ns"]
        return "not freed" if mean is None else units.duration(mean)

    return tables.by_site(
        answer,
        [
            ("calls", lambda site: units.count(site["allocations"])),
            ("share", lambda site: units.percent(site["share"], 1)),
            ("bytes", lambda site: units.size(site["bytes"])),
            ("mean life", lifetime),
        ],
    )


def findings(answer: Answer) -> list[Finding]:
    """One site that makes a large part of all calls."""
    for site in answer["sites"][:1]:
        if site["share"] >= 0.25 and answer["allocations"] >= 10_000:
            text = f"{units.percent(site['share'], 1)} of all allocations come from {site['name']}"
            return [Finding(site["share"] * 0.6, text, NAME)]
    return []
