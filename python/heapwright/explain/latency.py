# SPDX-License-Identifier: MIT
"""How long do the calls take, by function, by size and by site?"""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from heapwright.explain.question import A_SAMPLED_CALL_IS_SLOW, Question
from heapwright.explain.report import Answer, Report
from heapwright.explain.site_percentiles import LEFT_OUT, part_of_calls
from heapwright.explain.tables import sites, size_range
from heapwright.model import KIND_NAMES, Site
from heapwright.report import units
from heapwright.report.columns import Column, Table

_SHOWN = {
    "sum_ns": "total",
    "p50_ns": "p50",
    "p90_ns": "p90",
    "p99_ns": "p99",
    "p999_ns": "p99.9",
    "p9999_ns": "p99.99",
    "max_ns": "max",
}


def _by_function(report: Report) -> list[Any]:
    """Longest total first; empty if durations were not recorded."""
    rows = [row for row in report.facts.by_kind if row.latency.calls > 0]
    return sorted(rows, key=lambda row: -row.latency.sum_ns) if _has_durations(report) else []


def _by_size(report: Report) -> list[Any]:
    rows = [row for row in report.facts.by_size if row.allocation_latency.calls > 0]
    return rows if _has_durations(report) else []


def _by_site(report: Report) -> list[tuple[Site, Any]]:
    """Of the allocating calls; longest total first."""
    latencies = report.facts.site_latency
    slowest = report.top_sites(lambda facts: facts.allocator_ns) if _has_durations(report) else []
    return [(site, SimpleNamespace(latency=latencies[site.number])) for site, _ in slowest]


def _left_out(report: Report) -> int:
    return report.facts.totals.latencies_left_out if _has_durations(report) else 0


def _notes(answer: Answer) -> list[str]:
    return part_of_calls(answer["left_out_calls"], "latencies")


def _has_durations(report: Report) -> bool:
    return report.trace.metadata.durations_recorded


def _percentiles(key: str, parts: Iterable[str] = _SHOWN) -> tuple[Column, ...]:
    """Columns that show these parts of a latency."""

    def shown(part: str, label: str) -> Column:
        return Column("", "ns", label, text=lambda row, _: units.duration(row[key][part]))

    return tuple(shown(part, _SHOWN[part]) for part in parts)


def _gist(answer: Answer) -> str:
    for row in answer["by_function"][:1]:
        latency = row["latency"]
        p50, p99, most = (units.duration(latency[name]) for name in ("p50_ns", "p99_ns", "max_ns"))
        return f"half of the {row['function']} calls within {p50}, 99 % within {p99}, the slowest {most}"
    return ""


# The slowest calls cover this: there are no findings.
QUESTION = Question(
    "latency",
    "How long the calls take",
    (LEFT_OUT._replace(value=lambda report, _: _left_out(report)),),
    tables=(
        Table(
            "by_function",
            (
                Column("function", "word", "function", lambda row, _: KIND_NAMES[row.kind]),
                Column("calls", "count", "calls"),
                Column("latency", "latency"),
                *_percentiles("latency"),
            ),
            _by_function,
        ),
        Table(
            "by_size",
            (
                size_range("allocated size"),
                Column("from_bytes", "bytes"),
                Column("to_bytes", "bytes"),
                Column("", "count", "calls", text=lambda row, _: units.count(row["allocation"]["calls"])),
                Column("allocation", "latency", value="allocation_latency"),
                Column("release", "latency", value="release_latency"),
                *_percentiles("allocation"),
            ),
            _by_size,
            title="Allocations by size",
        ),
        sites(
            Column("", "count", "calls", text=lambda row, _: units.count(row["latency"]["calls"])),
            Column("latency", "latency"),
            *_percentiles("latency", ("sum_ns", "p50_ns", "p99_ns", "max_ns")),
            rows=_by_site,
            key="by_site",
            title="By call site",
        ),
    ),
    notes=_notes,
    unsampled=A_SAMPLED_CALL_IS_SLOW,
    gist=_gist,
)
