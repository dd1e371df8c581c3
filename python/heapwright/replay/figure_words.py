# SPDX-License-Identifier: MIT
"""A figure of the decision as shown in a table, with its verdict."""

from __future__ import annotations

from heapwright.measure.verdict import BETTER, SAME, UNKNOWN, WORSE
from heapwright.replay.figures import Figure
from heapwright.replay.result import Document, Outcome
from heapwright.report import units
from heapwright.report.columns import WORD, Column, Record

# A trace has durations in such steps; a CPU may start reading the clock before the call has ended.
_SHORTEST_NS = 4

# Their noise is that of the machine, and differs from row to row.
_TIMES = ("time_ns", "gaps_time_ns")

_MARKS = {BETTER: "", WORSE: "", SAME: "=", UNKNOWN: "?"}


def call_time(time_ns: float | None) -> str:
    """Time of one call without the clock's cost; shown as an upper bound if nothing is left."""
    if time_ns is not None and time_ns < _SHORTEST_NS:
        return f"< {units.duration(_SHORTEST_NS)}"
    return units.number(time_ns, "ns")


def _written(figure: Figure, candidate: Outcome, is_reference: bool) -> str:
    """41.2 MiB −12 %; = if there is no difference, ? if not known; of a time ± what cannot be told."""
    found = candidate.figures.get(figure.key)
    if found is None:
        return candidate.failure.split(":")[0] or "–"
    text = units.number(found.value, figure.unit)
    if is_reference:
        return text
    if found.verdict in (BETTER, WORSE):
        return f"{text} {units.signed_percent(found.relative_difference)}"
    if found.verdict == SAME and figure.key in _TIMES and found.resolution:
        return f"{text} ±{units.number(found.resolution, figure.unit)}"
    return f"{text} {_MARKS[found.verdict]}"


def rows(document: Document) -> list[Record]:
    """A row for each candidate, for column()."""
    return [{"candidate": one, "is_reference": one.name == document.reference} for one in document.candidates]


def column(figure: Figure, label: str = "") -> Column:
    """A figure of each candidate with its mark."""

    def text(row: Record, _: Record) -> str:
        return _written(figure, row["candidate"], row["is_reference"])

    return Column(figure.key, WORD, label or figure.label, text=text)
