# SPDX-License-Identifier: MIT
"""Which blocks are freed by another thread than the one that allocated them?"""

from __future__ import annotations

from heapwright.explain import look, tables
from heapwright.explain.report import Answer, Finding, Report, share, site_record
from heapwright.report import units

NAME = "cross_thread"
TITLE = "Freed by another thread"


def answer(report: Report) -> Answer:
    """The pairs of threads and the sites."""
    cells = report.facts.cross_thread
    crossing = [cell for cell in cells if cell.allocating_thread != cell.freeing_thread]
    freed = sum(cell.blocks for cell in cells)
    blocks = sum(cell.blocks for cell in crossing)
    names = {thread.index: thread.name for thread in report.trace.threads}
    return {
        "blocks": blocks,
        "bytes": sum(cell.bytes for cell in crossing),
        "share": share(blocks, freed),
        "pairs": [
            {
                "allocating_thread": cell.allocating_thread,
                "allocating_name": names.get(cell.allocating_thread, ""),
                "freeing_thread": cell.freeing_thread,
                "freeing_name": names.get(cell.freeing_thread, ""),
                "blocks": cell.blocks,
                "bytes": cell.bytes,
            }
            for cell in sorted(crossing, key=lambda cell: -cell.blocks)[: report.top]
        ],
        "sites": [
            {
                **site_record(site),
                "blocks": facts.freed_by_other_thread,
                "share_of_site": share(facts.freed_by_other_thread, facts.freed),
            }
            for site, facts in report.top_sites(lambda facts: facts.freed_by_other_thread)
        ],
    }


def show(answer: Answer) -> look.RenderableType | None:
    """Pairs of threads, then sites."""
    if not answer["pairs"]:
        return None
    pairs = tables.plain(
        ("blocks", "bytes", "allocated by", "freed by"),
        [
            (
                units.count(pair["blocks"]),
                units.size(pair["bytes"]),
                f"{pair['allocating_name']} #{pair['allocating_thread']}",
                f"{pair['freeing_name']} #{pair['freeing_thread']}",
            )
            for pair in answer["pairs"]
        ],
        text_columns=(2, 3),
    )
    sites = tables.by_site(
        answer,
        [
            ("blocks", lambda site: units.count(site["blocks"])),
            ("of the site", lambda site: units.percent(site["share_of_site"], 1)),
        ],
    )
    return pairs if sites is None else look.Group(pairs, look.Text(), sites)


def findings(answer: Answer) -> list[Finding]:
    """A pattern of producers and consumers."""
    if answer["share"] < 0.1 or answer["blocks"] < 1000:
        return []
    text = f"{units.percent(answer['share'], 1)} of the freed blocks are freed by another thread"
    if answer["sites"]:
        text += f", most from {answer['sites'][0]['name']}"
    return [Finding(answer["share"] * 0.6, text, NAME)]
