# SPDX-License-Identifier: MIT
"""Candidates' use of the kernel as text: a sentence if it differs much, and a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from heapwright.replay import kernel
from heapwright.replay.details import Detail
from heapwright.replay.result import Counted, Document, Kernel, Outcome
from heapwright.report import units
from heapwright.report.columns import WORD, Column, Record

_MOST_NAMED = 3
_SWITCHES = {"voluntary_switches": "waits (switches)", "involuntary_switches": "preempted (switches)"}

COLUMNS = (
    Column("kind", WORD, "kernel"),
    Column("candidate", WORD, "allocator"),
    Column("calls", WORD, "times", text=lambda record, _: units.count(record["calls"])),
    Column("ns", WORD, "takes", text=lambda record, _: units.number(record["ns"], "ns")),
)


def rows(document: Document) -> list[Record]:
    """Kinds, the candidates side by side, for COLUMNS, without unused kinds."""
    found = [
        {"kind": kind, "candidate": candidate.name, "calls": calls, "ns": ns}
        for candidate in document.candidates
        if candidate.kernel
        for kind, calls, ns in _kinds(candidate.kernel)
    ]
    asked = list(dict.fromkeys(row["kind"] for row in found))
    asked = [kind for kind in asked if any(row["calls"] for row in found if row["kind"] == kind)]
    return sorted((row for row in found if row["kind"] in asked), key=lambda row: asked.index(row["kind"]))


def detail(document: Document) -> Detail:
    """By kind."""
    about = "Page faults, switches and system calls of the heap calls, median of the runs:"
    return Detail(about, COLUMNS, rows(document), ("kind",), lambda row: str(row["kind"]))


def _kinds(asked: Kernel) -> Iterator[tuple[str, float, float | None]]:
    for kind, sums in (asked.system_calls or {}).items():
        yield kind, sums.calls.median, sums.ns.median
    yield "page faults", asked.faults.median, None
    for key, label in _SWITCHES.items():
        yield label, getattr(asked, key).median, None


def spreads(document: Document) -> Iterator[tuple[str, str, Callable[[Outcome], Counted | None]]]:
    """Label, unit and reader of each figure with median, minimum and maximum."""
    known = [candidate.kernel for candidate in document.candidates if candidate.kernel]
    yield "page faults", "count", partial(_figure, "faults")
    for key, label in _SWITCHES.items():
        yield label, "count", partial(_figure, key)
    for kind in dict.fromkeys(kind for asked in known for kind in asked.system_calls or ()):
        yield f"{kind} calls", "count", partial(_of_kind, kind, "calls")
        yield f"{kind} time", "ns", partial(_of_kind, kind, "ns")


def _figure(key: str, candidate: Outcome) -> Counted | None:
    return getattr(candidate.kernel, key, None)


def _of_kind(kind: str, key: str, candidate: Outcome) -> Counted | None:
    calls = candidate.kernel and candidate.kernel.system_calls
    return getattr(calls.get(kind), key, None) if calls else None


def about(document: Document) -> list[str]:
    """One line, if a candidate makes many more or fewer system calls than the reference."""
    found = kernel.stand_out(document)[:_MOST_NAMED]
    if not found:
        return []
    named = [document.candidates[0], *found]
    return [f"System calls of the heap calls: {', '.join(map(_said, named))}."]


def _said(candidate: Outcome) -> str:
    asked = candidate.kernel
    calls, ns = kernel.total(asked), kernel.total(asked, "ns")
    mostly = f", mostly {kernel.most_of(asked)}" if asked and calls else ""
    return f"{candidate.name} {units.number(calls, 'count')} ({units.number(ns, 'ns')}{mostly})"
