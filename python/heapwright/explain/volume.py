# SPDX-License-Identifier: MIT
"""Which sites asked for the most bytes?"""

from __future__ import annotations

from heapwright.explain import look, tables
from heapwright.explain.report import Answer, Finding, Report, share, site_record
from heapwright.report import units

NAME = "volume"
TITLE = "Most bytes allocated"


def answer(report: Report) -> Answer:
    """Requested bytes over the whole time, by site."""
    total = report.facts.totals.requested_bytes
    return {
        "bytes": total,
        "sites": [
            {
                **site_record(site),
                "bytes": facts.bytes,
                "share": share(facts.bytes, total),
                "allocations": facts.allocations,
                "mean_bytes": facts.bytes // max(1, facts.allocations),
            }
            for site, facts in report.top_sites(lambda facts: facts.bytes)
        ],
    }


def show(answer: Answer) -> look.RenderableType | None:
    """Largest first."""
    return tables.by_site(
        answer,
        [
            ("bytes", lambda site: units.size(site["bytes"])),
            ("share", lambda site: units.percent(site["share"], 1)),
            ("calls", lambda site: units.count(site["allocations"])),
            ("mean", lambda site: units.size(site["mean_bytes"])),
        ],
    )


def findings(answer: Answer) -> list[Finding]:
    """Volume alone is no finding: calls and time are."""
    return []
