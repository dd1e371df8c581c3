# SPDX-License-Identifier: MIT
"""Which blocks are freed by a thread other than the one that allocated them?"""

from __future__ import annotations

from typing import NamedTuple

from heapwright.explain.question import Question
from heapwright.explain.report import Answer, Finding, Report, share
from heapwright.explain.tables import sites
from heapwright.model import Site, SiteFacts
from heapwright.report import units
from heapwright.report.columns import Column, Table


class _Pair(NamedTuple):
    allocating_thread: int
    allocating_name: str
    freeing_thread: int
    freeing_name: str
    blocks: int
    bytes: int


class _Crossing:
    """The pairs of threads, most blocks first, and the sites."""

    def __init__(self, report: Report) -> None:
        names = {thread.index: thread.name for thread in report.trace.threads}
        cells = report.facts.cross_thread
        pairs = [
            _Pair(one, names.get(one, ""), other, names.get(other, ""), blocks, size)
            for one, other, blocks, size in cells
            if one != other
        ]
        self.report = report
        self.blocks = sum(pair.blocks for pair in pairs)
        self.bytes = sum(pair.bytes for pair in pairs)
        self.share = share(self.blocks, sum(cell.blocks for cell in cells))
        self.pairs = sorted(pairs, key=lambda pair: -pair.blocks)[: report.top]

    def sites(self) -> list[tuple[Site, SiteFacts]]:
        return self.report.top_sites(lambda site: site.freed_by_other_thread)


def _findings(answer: Answer) -> list[Finding]:
    """A pattern of producers and consumers."""
    if answer["share"] < 0.1 or answer["blocks"] < 1000:
        return []
    text = f"{units.percent(answer['share'])} of the freed blocks were freed by another thread"
    if answer["sites"]:
        text += f", most from {answer['sites'][0]['name']}"
    return [Finding(answer["share"] * 0.6, text)]


def _gist(answer: Answer) -> str:
    if not answer["blocks"]:
        return ""
    return f"{units.percent(answer['share'])} of the freed blocks"


QUESTION = Question(
    "cross_thread",
    "Freed by another thread",
    (Column("blocks"), Column("bytes", "bytes"), Column("share", "share")),
    (
        Table(
            "pairs",
            (
                Column("blocks", "count", "blocks"),
                Column("bytes", "bytes", "bytes"),
                Column(
                    "allocating_name",
                    "text",
                    "allocated by",
                    text=lambda row, _: f"{row['allocating_name']} #{row['allocating_thread']}",
                ),
                Column("allocating_thread"),
                Column(
                    "freeing_name",
                    "text",
                    "freed by",
                    text=lambda row, _: f"{row['freeing_name']} #{row['freeing_thread']}",
                ),
                Column("freeing_thread"),
            ),
            lambda found: found.pairs,
        ),
        sites(
            Column("blocks", "count", "blocks", "freed_by_other_thread"),
            Column(
                "share_of_site",
                "share",
                "of the site",
                lambda site, _: share(site.freed_by_other_thread, site.freed),
            ),
            rows=_Crossing.sites,
            title="Whose blocks they are",
        ),
    ),
    prepare=_Crossing,
    findings=_findings,
    unsampled="cross-thread frees take every call of both threads",
    gist=_gist,
)
