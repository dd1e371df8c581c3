# SPDX-License-Identifier: MIT
"""What did the program map itself, outside the heap?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from heapwright.explain.question import Question
from heapwright.explain.report import Answer, Report, share
from heapwright.explain.tables import sites
from heapwright.report import units
from heapwright.report.columns import Column


def _sum(field: str) -> Callable[[Report, Answer], Any]:
    return lambda report, _: sum(getattr(row, field) for row in report.facts.mappings)


def _gist(answer: Answer) -> str:
    if not answer["calls"]:
        return ""
    mapped, left = units.size(answer["mapped_bytes"]), units.size(answer["at_end_bytes"])
    return f"{mapped} in {units.counted(answer['calls'], 'call')}, {left} of it at the end"


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
            rows=lambda report: [
                (report.sites[row.site], row) for row in report.facts.mappings[: report.top]
            ],
        ),
    ),
    gist=_gist,
)
