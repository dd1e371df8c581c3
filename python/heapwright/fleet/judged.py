# SPDX-License-Identifier: MIT
"""The remedies of one recording as rows: what a replay has measured of each, or else its bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heapwright import explain
from heapwright.explain.replayed import AT_SCAN, BOUND, MEASURED
from heapwright.explain.report import Report

_HELPING = ("yes", "partly", "unknown")


def remedies_of(report: Report) -> list[dict[str, Any]]:
    """A row for each remedy that could help: those for resident memory, and advice. What a replay refuted is
    among them. Gains of one process's remedies overlap."""
    answers = explain.answers(report, ("cause", "advice"))
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row in answers["cause"].get("remedies", ()):
        if row["helps"] in _HELPING or row["judged"] != BOUND:
            _add(found, _row(row, row["kind"], str(row["what"]), row["bytes"], None))
    for row in answers["advice"].get("advice", ()):
        what = f"{row['action']}: {row['function'] or row['name']}"  # lines move from version to version
        _add(found, _row(row, row["rule"], what, row["gain_bytes"] or None, row["gain_ns"] or None))
    return list(found.values())


def _add(found: dict[tuple[str, str], dict[str, Any]], row: dict[str, Any]) -> None:
    """A setting may be the remedy of a question and of a rule: it counts once."""
    of = (row["replay"], "") if row["replay"] else (row["kind"], row["what"])
    found.setdefault(of, row)


def _row(
    row: Mapping[str, Any], kind: str, what: str, bound_bytes: int | None, bound_ns: int | None
) -> dict[str, Any]:
    is_measured = row["judged"] == MEASURED
    return {
        "kind": kind,
        "what": what,
        "replay": row["replay_change"] or row["replay_set"],
        "judged": row["judged"],
        "measured_bytes": _returned(row, "bytes") if is_measured else None,
        "measured_ns": _returned(row, "ns") if is_measured else None,
        "bound_bytes": bound_bytes,
        "bound_ns": bound_ns,
    }


def _returned(row: Mapping[str, Any], unit: str) -> int:
    """What a replay certainly saw less of; memory at the scan where that was asked for."""
    better = [one for one in row["replayed"] if one["unit"] == unit and one["verdict"] == "better"]
    at_scan = [one for one in better if one["figure"] == AT_SCAN]
    return int(max((-one["difference"] for one in at_scan or better), default=0))
