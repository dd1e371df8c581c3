# SPDX-License-Identifier: MIT
"""Which allocations could be avoided with the stack or a reused buffer?"""

from __future__ import annotations

from heapwright.explain.question import Question
from heapwright.explain.report import Answer, Report, share
from heapwright.explain.tables import sites
from heapwright.report import units
from heapwright.report.columns import Column


def _share(report: Report, _: Answer) -> float:
    """Share of the allocations; with a time range, of the freed blocks if these are more, since a
    temporary may be allocated before the range."""
    freed = sum(site.freed for site in report.facts.sites)
    return share(report.facts.temporaries, max(report.facts.totals.allocations, freed))


def _gist(answer: Answer) -> str:
    if not answer["temporaries"]:
        return ""
    return f"{units.percent(answer['share'])} of the blocks were freed before the thread allocated again"


# advice/reused_buffer.py advises how to avoid them.
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
    unsampled="knowing what a thread does between an allocation and its free takes every call",
    gist=_gist,
)
