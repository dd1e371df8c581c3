# SPDX-License-Identifier: MIT
"""How long calls take, for people: by function and size, the candidates side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heapwright.replay.details import Detail
from heapwright.report import units
from heapwright.report.columns import WORD, Column, Record


def _time_column(key: str, label: str) -> Column:
    return Column(key, WORD, label, text=lambda record, _: units.number(record[key], "ns"))


COLUMNS = (
    Column("candidate", WORD, "allocator"),
    Column("function", WORD, "function"),
    Column("largest_bytes", WORD, "size to", text=lambda record, _: units.size(record["largest_bytes"])),
    Column("calls", WORD, "calls", text=lambda record, _: units.count(record["calls"])),
    _time_column("p50_ns", "p50"),
    _time_column("p99_ns", "p99"),
    _time_column("p999_ns", "p99.9"),
    _time_column("max_ns", "max"),
)


def rows(document: Mapping[str, Any]) -> list[Record]:
    """Functions and sizes side by side, for COLUMNS; without those of too few calls for a percentile."""
    found = [
        {**group, "candidate": candidate["name"]}
        for candidate in document["candidates"]
        for group in candidate["functions"] or ()
        if group["p50_ns"] is not None
    ]
    return sorted(found, key=lambda row: (row["function"], row["largest_bytes"]))


def detail(document: Mapping[str, Any]) -> Detail:
    """By function and size."""
    about = "How long calls take, by function and size of 20 calls or more; – where too few are slower:"
    return Detail(about, COLUMNS, rows(document), ("function", "largest_bytes"), _heading)


def _heading(row: Record) -> str:
    return f"{row['function']} to {units.size(row['largest_bytes'])}"
