# SPDX-License-Identifier: MIT
"""Which allocations could be saved by the stack or a reused buffer?"""

from __future__ import annotations

from heapwright.explain import look, tables
from heapwright.explain.report import Answer, Finding, Report, share, site_record
from heapwright.report import units

NAME = "temporaries"
TITLE = "Temporaries: freed before the same thread allocated again"


def answer(report: Report) -> Answer:
    """Temporaries by site.

    The shares' whole: the allocations; with a range of time the freed blocks
    where these are more, since a temporary may be allocated before the range.
    """
    total = report.facts.temporaries
    return {
        "temporaries": total,
        "share": share(total, max(report.facts.totals.allocations, _freed(report))),
        "sites": [
            {
                **site_record(site),
                "temporaries": facts.temporaries,
                "share_of_site": share(facts.temporaries, max(facts.allocations, facts.freed)),
                "time_ns": facts.allocator_ns + facts.release_ns,
            }
            for site, facts in report.top_sites(lambda facts: facts.temporaries)
        ],
    }


def _freed(report: Report) -> int:
    return sum(site.freed for site in report.facts.sites)


def show(answer: Answer) -> look.RenderableType | None:
    """Most first; the time is that of all the site's calls and frees."""
    return tables.by_site(
        answer,
        [
            ("temporaries", lambda site: units.count(site["temporaries"])),
            ("of the site", lambda site: units.percent(site["share_of_site"], 1)),
            ("site's time", lambda site: units.duration(site["time_ns"])),
        ],
    )


def findings(answer: Answer) -> list[Finding]:
    """Many temporaries."""
    if answer["share"] < 0.1 or answer["temporaries"] < 1000:
        return []
    site = answer["sites"][0] if answer["sites"] else None
    text = f"{units.percent(answer['share'], 1)} of the allocations are temporaries"
    if site:
        text += f", most from {site['name']}"
    return [Finding(answer["share"] * 0.7, text, NAME)]
