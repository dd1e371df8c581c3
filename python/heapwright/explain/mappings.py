# SPDX-License-Identifier: MIT
"""What did the program map itself, outside the heap?"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from heapwright.explain.outside_growth import again_with
from heapwright.explain.question import Question
from heapwright.explain.report import Answer, Report, share
from heapwright.explain.tables import sites
from heapwright.model import Site
from heapwright.report import units
from heapwright.report.columns import Column


def _sum(field: str) -> Callable[[Report, Answer], Any]:
    return lambda report, _: sum(getattr(row, field) for row in report.facts.mappings)


def _gist(answer: Answer) -> str:
    if not answer["calls"]:
        return ""
    mapped, left = units.size(answer["mapped_bytes"]), units.size(answer["at_end_bytes"])
    return f"{mapped} in {units.counted(answer['calls'], 'call')}, {left} of it at the end"


def _rows(report: Report) -> list[tuple[Site, SimpleNamespace]]:
    conditions = report.trace.metadata.condition_values
    found = []
    for row in report.facts.mappings[: report.top]:
        site = report.sites[row.site]
        again = again_with(conditions, site.location.library, site.location.function)
        found.append((site, SimpleNamespace(**row._asdict(), again=again)))
    return found


def _notes(answer: Answer) -> list[str]:
    """Of mappings that a runtime cuts up for all callers."""
    return [
        f"{row['name']} maps memory that all callers share; with {row['again']} each object is a call"
        for row in answer["sites"]
        if row["again"]
    ][:1]


# mmap, mremap and sbrk by site, in whole pages; mappings last until munmap or a later mapping replaces them.
QUESTION = Question(
    "mappings",
    "Mapped by the program itself: address space, not necessarily resident",
    (
        Column("calls", value=_sum("calls")),
        Column("mapped_bytes", "bytes", value=_sum("bytes")),
        Column("unmapped_bytes", "bytes", value=_sum("unmapped_bytes")),
        Column(
            "at_end_bytes",
            "bytes",
            value=_sum("at_end_bytes"),
            about="With a time range, more than mapped minus unmapped: what was mapped before it stays.",
        ),
    ),
    (
        sites(
            Column("mapped_bytes", "bytes", "mapped", "bytes"),
            Column("share", "share", "share", lambda row, of: share(row.bytes, of["mapped_bytes"])),
            Column("calls", "count", "calls"),
            Column("unmapped_bytes", "bytes", "unmapped"),
            Column(
                "given_back_bytes",
                "bytes",
                "given back",
                about="By madvise (DONTNEED, FREE, REMOVE); still mapped.",
            ),
            Column("at_end_bytes", "bytes", "at end"),
            Column(
                "reserved_at_end_bytes",
                "bytes",
                "reserved",
                about="The part of at_end_bytes without access (PROT_NONE).",
            ),
            Column("of_files_bytes", "bytes", about="The part of mapped_bytes that maps files."),
            Column(
                "again",
                "text",
                about="The setting that makes each object of the runtime that maps here a call; empty: none.",
            ),
            rows=_rows,
        ),
    ),
    notes=_notes,
    gist=_gist,
)
