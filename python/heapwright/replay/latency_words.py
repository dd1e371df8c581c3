# SPDX-License-Identifier: MIT
"""Call latencies as text: by function and size, and for the call sites shown."""

from __future__ import annotations

from dataclasses import asdict

from heapwright.replay import site_words
from heapwright.replay.details import Detail
from heapwright.replay.figure_words import call_time
from heapwright.replay.result import Document, SiteLatency
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


def rows(document: Document) -> list[Record]:
    """Functions and sizes side by side, for COLUMNS, without those with too few calls for a percentile."""
    found = [
        {**asdict(group), "candidate": candidate.name}
        for candidate in document.candidates
        for group in candidate.functions or ()
        if group.p50_ns is not None
    ]
    return sorted(found, key=lambda row: (row["function"], row["largest_bytes"]))


def detail(document: Document) -> Detail:
    """By function and size."""
    about = "Latency by function and size, for 20 calls or more; –: too few calls for the percentile:"
    return Detail(about, COLUMNS, rows(document), ("function", "largest_bytes"), _heading)


def _heading(row: Record) -> str:
    return f"{row['function']} to {units.size(row['largest_bytes'])}"


# The kinds of a site with most calls; all are in --json.
MOST_GROUPS = 6
SITE_COLUMNS = (Column("site", WORD, "call site"), *COLUMNS[:-1])
_FIGURES = ("calls", "p50_ns", "p99_ns", "p999_ns")


def site_rows(document: Document, limit: int) -> list[Record]:
    """The call sites of the reference and of the shown candidate, side by side."""
    best = site_words.fastest(document)
    found = best.call_sites if best else None
    if not best or not found:
        return []
    return [
        row
        for site in found.sites[:limit]
        for group in site.latency[:MOST_GROUPS]
        for row in _both(site.name, group, document.reference, best.name)
    ]


def _both(site: str, group: SiteLatency, reference: str, best: str) -> list[Record]:
    shared = {"site": site, "function": group.function, "largest_bytes": group.largest_bytes}
    return [
        {**shared, **{key: getattr(group, whose + key) for key in _FIGURES}, "candidate": name}
        for whose, name in (("reference_", reference), ("", best))
    ]


def site_detail(document: Document, limit: int) -> Detail:
    """By call site, function and size."""
    about = "Latency of calls at these call sites, and of the releases of their blocks:"
    grouped = ("site", "function", "largest_bytes")
    return Detail(about, SITE_COLUMNS, site_rows(document, limit), grouped, _site_heading)


def _site_heading(row: Record) -> str:
    return f"{row['site']}: {_heading(row)}"
