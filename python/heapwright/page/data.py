# SPDX-License-Identifier: MIT
"""The data of the page's charts: one document, and packed numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from heapwright.explain import over_time, slow_calls, slow_causes
from heapwright.explain.report import Report
from heapwright.model.values import Columns
from heapwright.page import call_paths, held, occupancy
from heapwright.page.bridge import Bridge
from heapwright.page.packing import Pack

Document = dict[str, Any]
Answers = dict[str, Any]  # of the explanation, by question

_MOST_PHASES = 400
_THREAD_COLUMNS = ("thread", "bin", "allocations", "releases", "bytes", "allocator_ns")


class Data(NamedTuple):
    """parts: where each part of the packed numbers begins."""

    document: Document
    packed: bytes


def data_of(report: Report, answers: Answers, rows_limit: int) -> Data:
    """rows_limit: of call paths by bins."""
    paths = call_paths.CallPaths(report, rows_limit)
    bins = call_paths.pack_bins(report, paths.leaf_of, len(paths.leaves))
    packs = {
        "nodes": _rows(paths.nodes),
        "leaves": _rows(paths.leaves),
        "sites": _rows(paths.sites),
        "paths": bins.pack,
        "pins": _pins(report, paths),
        "threads": _table(report.facts.thread_bins, _THREAD_COLUMNS),
        "latency": _table(report.facts.latency_bins, ("bin", "is_release", "from_ns", "calls")),
        "slow": _table(report.facts.slow_bins, ("bin", "cause", "from_ns", "calls", "duration_ns")),
        "cells": occupancy.pack(report, paths.site_number),
    }
    begins, packed = {}, bytearray()
    for name, pack in packs.items():
        begins[name] = len(packed)
        packed += pack.data
    document: Document = {
        "begins": begins,
        "counts": {
            "nodes": len(paths.nodes),
            "leaves": len(paths.leaves),
            "sites": len(paths.sites),
            "rows": bins.rows,
        },
        "names": paths.names.texts,
        "cutoff": paths.cutoff,
        **_times(report),
        **_pages(report),
        "threads": [f"{thread.name} #{thread.index}" for thread in report.trace.threads],
        "phases": _phases(answers),
        "lifetimes": _lifetimes(report),
        "growth": _growth(answers, paths),
        "held": held.data_of(report),
        "slowFromNs": slow_calls.SLOW_FROM_NS,
        "causes": [(name, slow_causes.evidence_of(cause)) for cause, name in enumerate(slow_causes.CAUSES)],
        "isSampled": report.facts.spreads is not None,
        "hasDurations": report.trace.metadata.durations_recorded,
        "isFiltered": not report.chosen.is_everything,
    }
    return Data(document, bytes(packed))


def _rows(rows: Any) -> Pack:
    """Row by row; their number is in the document."""
    found = Pack()
    for row in rows:
        for value in row:
            found.number(value)
    return found


def _times(report: Report) -> Document:
    facts, bridge = report.facts, Bridge(report)
    return {
        "beginNs": over_time.begin_ns(report),
        "binEndNs": list(facts.bin_end_ns),
        "peakNs": facts.peak.time_ns,
        "peakBytes": facts.peak.live_bytes,
        "timeline": {
            "ns": [point.time_ns for point in facts.timeline],
            "highest": [point.highest_live_bytes or point.live_bytes for point in facts.timeline],
            "usableAtHighest": [point.usable_at_highest_bytes for point in facts.timeline],
            "resident": bridge.resident,
            "parts": bridge.parts,
        },
        "hasBridge": bridge.is_whole,
        "scanNs": bridge.scan_times_ns,
    }


def _pages(report: Report) -> Document:
    return {"cellBytes": report.facts.cell_bytes, "bands": occupancy.bands(report)}


def _pins(report: Report, paths: call_paths.CallPaths) -> Pack:
    """Of each scan: number of leaves; of each, the leaf after the one before, and its bytes."""
    by_scan: list[dict[int, int]] = [{} for _ in report.facts.scans]
    pins = report.facts.path_pins
    for scan, stack, pinned in zip(pins["scan"], pins["stack"], pins["pinned_bytes"], strict=True):
        if stack in paths:
            leaf = paths.leaf_of(stack)
            by_scan[scan][leaf] = by_scan[scan].get(leaf, 0) + pinned
    found = Pack()
    for leaves in by_scan:
        found.number(len(leaves))
        before = 0
        for leaf in sorted(leaves):
            found.number(leaf - before)
            found.number(leaves[leaf])
            before = leaf
    return found


def _table(columns: Columns, names: Sequence[str]) -> Pack:
    """Number of rows; of each what the columns of these names have."""
    found = Pack()
    found.number(len(columns[names[0]]))
    for row in zip(*(columns[name] for name in names), strict=True):
        for value in row:
            found.number(value)
    return found


def _phases(answers: Answers) -> list[list[Any]]:
    runs = answers.get("phases", {}).get("runs", [])
    return [[run["name"], run["begin_ns"], run["end_ns"]] for run in runs[:_MOST_PHASES]]


def _lifetimes(report: Report) -> Document:
    of = report.facts.lifetimes
    return {
        "sizes": list(of.size_from_bytes),
        "ns": list(of.lifetime_from_ns),
        "blocks": list(of.blocks),
        "bytes": list(of.bytes),
    }


def _growth(answers: Answers, paths: call_paths.CallPaths) -> list[Document]:
    """Of the answer on growth what the picture needs; site: the page's number, -1: among the small ones."""
    return [
        {
            "site": paths.site_number(row["site"]),
            "name": row["name"],
            "kind": row["kind"],
            "slope": row["slope_bytes_per_s"],
            "halfWidth": row["half_width_bytes_per_s"],
            "isSure": row["is_sure"],
            "sinceNs": row["since_ns"],
            "untilNs": row["until_ns"],
            "bytesAtEnd": row["bytes_at_end"],
            "reason": row["reason"],
        }
        for row in answers.get("growth", {}).get("sites", [])
    ]
