# SPDX-License-Identifier: MIT
"""How long do the calls take, by function and by size?"""

from __future__ import annotations

from typing import Any

from heapwright.explain.question import A_SAMPLED_CALL_IS_SLOW, Question
from heapwright.explain.report import Report
from heapwright.explain.tables import size_range
from heapwright.model import KIND_NAMES
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
    """Longest in sum first; empty when durations were not recorded."""
    rows = [row for row in report.facts.by_kind if row.latency.calls > 0]
    return sorted(rows, key=lambda row: -row.latency.sum_ns) if _has_durations(report) else []


def _by_size(report: Report) -> list[Any]:
    rows = [row for row in report.facts.by_size if row.allocation_latency.calls > 0]
    return rows if _has_durations(report) else []


def _has_durations(report: Report) -> bool:
    return report.trace.metadata.durations_recorded


def _percentiles(key: str) -> tuple[Column, ...]:
    """Columns that show the parts of a latency."""

    def shown(part: str, label: str) -> Column:
        return Column("", "ns", label, text=lambda row, _: units.duration(row[key][part]))

    return tuple(shown(part, label) for part, label in _SHOWN.items())


# The slowest calls speak for this: there are no findings.
QUESTION = Question(
    "latency",
    "How long the calls take",
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
        ),
    ),
    unsampled=A_SAMPLED_CALL_IS_SLOW,
)
