# SPDX-License-Identifier: MIT
"""Which threads use the heap?"""

from __future__ import annotations

from heapwright.explain import look, tables
from heapwright.explain.report import Answer, Finding, Report
from heapwright.report import units

NAME = "threads"
TITLE = "Threads"


def answer(report: Report) -> Answer:
    """The threads with the most calls."""
    rows = list(zip(report.trace.threads, report.facts.threads, strict=False))
    rows.sort(key=lambda row: -(row[1].allocations + row[1].releases))
    return {
        "count": len(report.trace.threads),
        "threads": [
            {
                "thread": thread.index,
                "thread_id": thread.thread_id,
                "name": thread.name,
                "first_ns": thread.first_ns,
                "exit_ns": thread.exit_ns,
                "allocations": facts.allocations,
                "releases": facts.releases,
                "bytes": facts.bytes,
                "allocator_ns": facts.allocator_ns,
                "temporaries": facts.temporaries,
                "peak_live_bytes": facts.peak_live_bytes,
                "dropped": thread.dropped,
            }
            for thread, facts in rows[: report.top]
        ],
    }


def show(answer: Answer) -> look.RenderableType | None:
    """Most calls first."""
    if not answer["threads"]:
        return None
    return tables.plain(
        ("thread", "allocations", "frees", "bytes", "own peak", "allocator"),
        [
            (
                f"{row['name']} #{row['thread']}",
                units.count(row["allocations"]),
                units.count(row["releases"]),
                units.size(row["bytes"]),
                units.size(row["peak_live_bytes"]),
                units.duration(row["allocator_ns"]),
            )
            for row in answer["threads"]
        ],
        text_columns=(0,),
    )


def findings(answer: Answer) -> list[Finding]:
    """Threads are shown, not judged."""
    return []
