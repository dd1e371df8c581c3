# SPDX-License-Identifier: MIT
"""What did the program map itself, past the heap?"""

from __future__ import annotations

from heapwright.explain import look, tables
from heapwright.explain.report import Answer, Finding, Report, share, site_record
from heapwright.report import units

NAME = "mappings"
TITLE = "Mapped by the program itself: address space, not necessarily resident"


def answer(report: Report) -> Answer:
    """mmap and mremap by site, in whole pages; what stays is what no munmap and no later mapping ended."""
    rows = report.facts.mappings
    mapped = sum(row.bytes for row in rows)
    return {
        "calls": sum(row.calls for row in rows),
        "mapped_bytes": mapped,
        "unmapped_bytes": sum(row.unmapped_bytes for row in rows),
        "at_end_bytes": sum(row.at_end_bytes for row in rows),
        "sites": [
            {
                **site_record(report.sites[row.site]),
                "calls": row.calls,
                "mapped_bytes": row.bytes,
                "share": share(row.bytes, mapped),
                "unmapped_bytes": row.unmapped_bytes,
                "at_end_bytes": row.at_end_bytes,
            }
            for row in rows[: report.top]
        ],
    }


def show(answer: Answer) -> look.RenderableType | None:
    """Most bytes first."""
    return tables.by_site(
        answer,
        [
            ("mapped", lambda site: units.size(site["mapped_bytes"])),
            ("share", lambda site: units.percent(site["share"], 1)),
            ("calls", lambda site: units.count(site["calls"])),
            ("unmapped", lambda site: units.size(site["unmapped_bytes"])),
            ("at end", lambda site: units.size(site["at_end_bytes"])),
        ],
    )


def findings(answer: Answer) -> list[Finding]:
    """Address space alone costs nothing."""
    return []
