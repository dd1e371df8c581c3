# SPDX-License-Identifier: MIT
"""Which allocations could be saved by the stack or a reused buffer?"""

from __future__ import annotations

from heapwright.explain import parts
from heapwright.explain.question import Question
from heapwright.explain.report import Answer, Finding, Report, share
from heapwright.explain.tables import sites
from heapwright.report import units
from heapwright.report.columns import Column


def _share(report: Report, _: Answer) -> float:
    """Of the allocations; with a range of time of the freed blocks where these are more, since a
    temporary may be allocated before the range."""
    freed = sum(site.freed for site in report.facts.sites)
    return share(report.facts.temporaries, max(report.facts.totals.allocations, freed))


def _findings(answer: Answer) -> list[Finding]:
    """Many temporaries."""
    if answer["share"] < 0.1 or answer["temporaries"] < 1000:
        return []
    text = f"{units.percent(answer['share'])} of the allocations are temporaries"
    if answer["sites"]:
        text += f", most from {answer['sites'][0]['name']}"
    return [Finding(answer["share"] * 0.7, text, parts=parts.TEMPORARIES)]


QUESTION = Question(
    "temporaries",
    "Temporaries: freed before the same thread allocated again",
    (
        Column("temporaries", value="facts.temporaries"),
        Column("share", "share", value=_share),
    ),
    (
        sites(
            Column("temporaries", "count", "temporaries"),
            Column(
                "share_of_site",
                "share",
                "of the site",
                lambda site, _: share(site.temporaries, max(site.allocations, site.freed)),
            ),
            # Of all the site's calls and frees.
            Column("time_ns", "ns", "site's time", lambda site, _: site.allocator_ns + site.release_ns),
            most=lambda site: site.temporaries,
        ),
    ),
    findings=_findings,
    unsampled="what a thread does between an allocation and its free takes every call",
)
