# SPDX-License-Identifier: MIT
"""Which sizes are requested, and by whom?"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from heapwright.explain.question import Question
from heapwright.explain.report import Answer, Finding, Report, share
from heapwright.explain.site_percentiles import LEFT_OUT, part_of_calls
from heapwright.explain.tables import sites, size_range
from heapwright.model import Site
from heapwright.report import units
from heapwright.report.columns import BAR, OPEN, Column, Table

_BAR_CELLS = 12


def _classes(report: Report) -> list[SimpleNamespace]:
    rows = report.facts.by_size
    return _with_shares(report, [row for row in rows if row.allocations > 0 or row.live_at_peak_blocks > 0])


def _with_shares(report: Report, rows: Sequence[Any]) -> list[SimpleNamespace]:
    """Of all allocations."""
    total = report.facts.totals.allocations
    return [SimpleNamespace(**row._asdict(), share=share(row.allocations, total)) for row in rows]


def _by_site(report: Report) -> list[tuple[Site, SimpleNamespace]]:
    """Most calls first. The sizes that inline storage or a pool must hold."""
    return [
        (
            site,
            SimpleNamespace(allocations=facts.allocations, **report.facts.site_sizes[site.number]._asdict()),
        )
        for site, facts in report.top_sites(lambda facts: facts.allocations)
    ]


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


def _bar(row: Answer, answer: Answer) -> str:
    """A bar whose length is the share of calls."""
    return bar(row["allocations"], max(row["allocations"] for row in answer["classes"]))


def _findings(answer: Answer) -> list[Finding]:
    """One exact size that makes up most of the calls."""
    for row in answer["common"][:1]:
        if row["share"] >= 0.5 and row["allocations"] >= 10_000:
            size = units.size(row["size_bytes"])
            text = f"{units.percent(row['share'])} of the allocations request exactly {size}"
            return [Finding(row["share"] * 0.4, text)]
    return []


def _notes(answer: Answer) -> list[str]:
    return part_of_calls(answer["left_out_calls"], "sizes")


def _gist(answer: Answer) -> str:
    for row in answer["common"][:1]:
        return f"the commonest is {units.size(row['size_bytes'])}: {units.percent(row['share'])} of the calls"
    return ""


# Power-of-two classes, the most frequent exact sizes, and the sizes of each site.
QUESTION = Question(
    "sizes",
    "Sizes",
    (LEFT_OUT._replace(value="facts.totals.sizes_left_out"),),
    tables=(
        Table(
            "classes",
            (
                size_range("size"),
                Column("from_bytes", "bytes"),
                Column("to_bytes", "bytes"),
                Column("allocations", "count", "calls", sampled="allocations"),
                Column("", BAR, " ", text=_bar),
                Column("share", "share"),
                Column("bytes", "bytes", "bytes", sampled="bytes"),
                Column("overhead_bytes", "bytes", sampled="overhead"),
                Column("live_at_peak_bytes", "bytes", "at peak", sampled="peak_bytes"),
                Column("live_at_peak_blocks", sampled="peak_blocks"),
            ),
            _classes,
        ),
        Table(
            "common",
            (
                Column("size_bytes", "bytes"),
                Column("allocations", sampled="allocations"),
                Column("share", "share"),
            ),
            lambda report: _with_shares(report, report.facts.common_sizes[: report.top]),
        ),
        sites(
            Column("allocations", "count", "calls", sampled="allocations"),
            Column("min_bytes", "bytes", "min", sampled=OPEN),
            Column("p50_bytes", "bytes", "p50", sampled=OPEN),
            Column("p90_bytes", "bytes", "p90", sampled=OPEN),
            Column("max_bytes", "bytes", "max", sampled=OPEN),
            Column("counted", sampled=OPEN, about="Calls covered by the percentiles: see left_out_calls."),
            rows=_by_site,
            title="Sizes by call site",
        ),
    ),
    findings=_findings,
    notes=_notes,
    gist=_gist,
)
