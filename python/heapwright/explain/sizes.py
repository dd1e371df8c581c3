# SPDX-License-Identifier: MIT
"""Which sizes are asked for?"""

from __future__ import annotations

from heapwright.explain import look, tables
from heapwright.explain.report import Answer, Finding, Report, share
from heapwright.report import units

NAME = "sizes"
TITLE = "Sizes"
_BAR_CELLS = 12


def answer(report: Report) -> Answer:
    """Power-of-two classes, and the most frequent exact sizes."""
    total = report.facts.totals.allocations
    return {
        "classes": [
            {
                "from_bytes": row.from_bytes,
                "to_bytes": row.to_bytes,
                "allocations": row.allocations,
                "share": share(row.allocations, total),
                "bytes": row.bytes,
                "overhead_bytes": row.overhead_bytes,
                "live_at_peak_blocks": row.live_at_peak_blocks,
                "live_at_peak_bytes": row.live_at_peak_bytes,
            }
            for row in report.facts.by_size
            if row.allocations > 0 or row.live_at_peak_blocks > 0
        ],
        "common": [
            {
                "size_bytes": row.size_bytes,
                "allocations": row.allocations,
                "share": share(row.allocations, total),
            }
            for row in report.facts.common_sizes[: report.top]
        ],
    }


def show(answer: Answer) -> look.RenderableType | None:
    """A bar for each class; its length is the share of calls."""
    if not answer["classes"]:
        return None
    largest = max(row["allocations"] for row in answer["classes"])
    return tables.plain(
        ("size", "calls", "", "bytes", "at peak"),
        [
            (
                f"{units.size(row['from_bytes'])} – {units.size(row['to_bytes'])}",
                units.count(row["allocations"]),
                bar(row["allocations"], largest),
                units.size(row["bytes"]),
                units.size(row["live_at_peak_bytes"]),
            )
            for row in answer["classes"]
        ],
        left_columns=(0, 2),
    )


def bar(value: int, largest: int) -> str:
    """A bar in eighths of a cell; anything above zero is visible.

    >>> bar(1, 1)
    '████████████'
    """
    eighths = round(8 * _BAR_CELLS * share(value, largest))
    if value > 0:
        eighths = max(1, eighths)
    full, rest = divmod(eighths, 8)
    return "█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else "")


def findings(answer: Answer) -> list[Finding]:
    """One exact size that makes most of the calls: a pool would serve it."""
    for row in answer["common"][:1]:
        if row["share"] >= 0.5 and row["allocations"] >= 10_000:
            size = units.size(row["size_bytes"])
            text = f"{units.percent(row['share'], 1)} of the allocations are of exactly {size}"
            return [Finding(row["share"] * 0.4, text, NAME)]
    return []
