# SPDX-License-Identifier: MIT
"""Call latencies as text: by function and size, and for the call sites shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heapwright.replay import site_words
from heapwright.replay.details import Detail
from heapwright.replay.figure_words import call_time
from heapwright.report import units
from heapwright.report.columns import WORD, Column, Record


def _time_column(key: str, label: str) -> Column:
    return Column(key, WORD, label, text=lambda record, _: call_time(record[key]))


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
    """Functions and sizes side by side, for COLUMNS, without those with too few calls for a percentile."""
    found = [
        {**group, "candidate": candidate["name"]}
        for candidate in document["candidates"]
        for group in candidate["functions"] or ()
        if group["p50_ns"] is not None
    ]
    return sorted(found, key=lambda row: (row["function"], row["largest_bytes"]))


def detail(document: Mapping[str, Any]) -> Detail:
    """By function and size."""
    about = "Latency by function and size, for 20 calls or more; –: too few calls for the percentile:"
    return Detail(about, COLUMNS, rows(document), ("function", "largest_bytes"), _heading)


def _heading(row: Record) -> str:
    return f"{row['function']} to {units.size(row['largest_bytes'])}"


# The kinds of a site with most calls; all are in --json.
MOST_GROUPS = 6
SITE_COLUMNS = (Column("site", WORD, "call site"), *COLUMNS[:-1])
_REFERENCE = "reference_"


def site_rows(document: Mapping[str, Any], limit: int) -> list[Record]:
    """The call sites of the reference and of the shown candidate, side by side."""
    best = site_words.fastest(document)
    found = best["call_sites"] if best else None
    if not best or not found:
        return []
    return [
        row
        for site in found["sites"][:limit]
        for group in site["latency"][:MOST_GROUPS]
        for row in _both(site["name"], group, str(document["reference"]), str(best["name"]))
    ]


def _both(site: str, group: Mapping[str, Any], reference: str, best: str) -> list[Record]:
    own = {key: value for key, value in group.items() if not key.startswith(_REFERENCE)}
    other = {key.removeprefix(_REFERENCE): group[key] for key in group if key.startswith(_REFERENCE)}
    shared = {"site": site, "function": group["function"], "largest_bytes": group["largest_bytes"]}
    return [{**shared, **other, "candidate": reference}, {**own, **shared, "candidate": best}]


def site_detail(document: Mapping[str, Any], limit: int) -> Detail:
    """By call site, function and size."""
    about = "Latency of calls at these call sites, and of the releases of their blocks:"
    grouped = ("site", "function", "largest_bytes")
    return Detail(about, SITE_COLUMNS, site_rows(document, limit), grouped, _site_heading)


def _site_heading(row: Record) -> str:
    return f"{row['site']}: {_heading(row)}"
