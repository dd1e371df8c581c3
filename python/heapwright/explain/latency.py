# SPDX-License-Identifier: MIT
"""How long do the calls take, by function and by size?"""

from __future__ import annotations

from heapwright.explain import look, tables
from heapwright.explain.report import Answer, Finding, Report
from heapwright.model import KIND_NAMES, Latency
from heapwright.report import units

NAME = "latency"
TITLE = "How long the calls take"
_PARTS = ("p50_ns", "p90_ns", "p99_ns", "p999_ns", "p9999_ns", "max_ns")
_HEADERS = ("p50", "p90", "p99", "p99.9", "p99.99", "max")


def answer(report: Report) -> Answer:
    """Percentiles; empty when durations were not recorded."""
    facts = report.facts
    if not report.trace.metadata.durations_recorded:
        return {"by_function": [], "by_size": []}
    kinds = sorted(
        (row for row in facts.by_kind if row.latency.calls > 0), key=lambda row: -row.latency.sum_ns
    )
    return {
        "by_function": [
            {"function": KIND_NAMES[row.kind], "calls": row.calls, "latency": row.latency._asdict()}
            for row in kinds
        ],
        "by_size": [
            {
                "from_bytes": row.from_bytes,
                "to_bytes": row.to_bytes,
                "allocation": row.allocation_latency._asdict(),
                "release": row.release_latency._asdict(),
            }
            for row in facts.by_size
            if row.allocation_latency.calls > 0
        ],
    }


def show(answer: Answer) -> look.RenderableType | None:
    """By function, then the allocations by size."""
    if not answer["by_function"]:
        return None
    functions = tables.plain(
        ("function", "calls", "total", *_HEADERS),
        [
            (
                row["function"],
                units.count(row["calls"]),
                units.duration(row["latency"]["sum_ns"]),
                *_percentiles(row["latency"]),
            )
            for row in answer["by_function"]
        ],
        left_columns=(0,),
    )
    sizes = tables.plain(
        ("allocated size", "calls", "total", *_HEADERS),
        [
            (
                f"{units.size(row['from_bytes'])} – {units.size(row['to_bytes'])}",
                units.count(row["allocation"]["calls"]),
                units.duration(row["allocation"]["sum_ns"]),
                *_percentiles(row["allocation"]),
            )
            for row in answer["by_size"]
        ],
        left_columns=(0,),
    )
    return look.Group(functions, look.Text(), sizes)


def _percentiles(latency: dict[str, int]) -> list[str]:
    return [units.duration(latency[part]) for part in _PARTS]


def findings(answer: Answer) -> list[Finding]:
    """The slowest calls speak for this."""
    return []


def tail(latency: Latency) -> str:
    """p50 / p99 / max in one phrase."""
    return " / ".join(units.duration(value) for value in (latency.p50_ns, latency.p99_ns, latency.max_ns))
