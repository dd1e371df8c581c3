# SPDX-License-Identifier: MIT
"""The scenarios in docs/truth.md, of cause.json, slow.json and same_end.json in bench/results."""

from __future__ import annotations

from typing import Any

import documents
from heapwright.report import markdown, units
from taken import as_is, each, fields

MEBIBYTE = 1 << 20


def mebibytes(count: int) -> str:
    return f"{count / MEBIBYTE:.1f}"


def off(truth: dict[str, Any]) -> str:
    """The error of what was reported, relative to the truth."""
    said, real = truth["said_bytes"], truth["real_bytes"]
    if abs(said - real) < MEBIBYTE:
        return "< 1 MiB"
    return f"{100 * (said - real) / real:+.0f} %" if real > 0 else "too high"


def row(of: dict[str, Any]) -> list[str]:
    said = f"{of['verdict']}: {of['cause']}" if of["cause"] else of["verdict"]
    said += f", of {of['owner']}" if of.get("owner") else ""
    real = of["real"] + (f": {of['real_owner']}" if of.get("real_owner") else "")
    truths = "; ".join(
        f"{truth['what']}: {'at most ' if truth['is_bound'] else ''}{mebibytes(truth['said_bytes'])}, "
        f"measured {mebibytes(truth['real_bytes'])} ({off(truth)})"
        for truth in of["truths"]
    )
    free = f"{mebibytes(of['free_bytes'])} of {mebibytes(of['resident_bytes'])}"
    return [of["name"], real, said, right(of), free, truths or "–", f"{of['seconds']:.0f}"]


def right(of: dict[str, Any]) -> str:
    return "yes" if of["is_right"] else "**no**"


def memory() -> list[str]:
    result = documents.read("cause")
    rows = result["scenarios"]
    head = ["scenario", "real cause", "reported", "right", "free, MiB",
            "reported and measured without the recorder, MiB", "s"]  # fmt: skip
    return [
        *markdown.table(head, map(row, rows), "llllrlr"),
        f"{sum(of['is_right'] for of in rows)} of {len(rows)} verdicts are right. {documents.said([result])}",
    ]


def shown(value: int, unit: str) -> str:
    if unit == "bytes":
        return units.size(value)
    return units.duration(value) if unit == "ns" else f"{value:,}"


def slow_figure(of: dict[str, Any]) -> str:
    said, real = of["said"], of["real"]
    bound = "at most " if of["is_bound"] else ""
    difference = f" ({100 * (said - real) / real:+.0f} %)" if real else ""
    return f"{of['what']}: {bound}{shown(said, of['unit'])}, measured {shown(real, of['unit'])}{difference}"


def slow_row(of: dict[str, Any]) -> list[str]:
    figures = "; ".join(map(slow_figure, of["figures"]))
    return [of["name"], of["real"], of["witness"], of["said"], right(of), figures, f"{of['seconds']:.0f}"]


def slow_calls() -> list[str]:
    result = documents.read("slow")
    rows = result["scenarios"]
    head = ["scenario", "real cause", "known by", "reported", "right", "reported and measured otherwise", "s"]
    return [
        *markdown.table(head, map(slow_row, rows), "llllllr"),
        f"{sum(of['is_right'] for of in rows)} of {len(rows)} verdicts are right. {documents.said([result])} "
        f"Load average {result['machine']['load_average']:.1f}: times are those of a busy machine.",
    ]


def same_end() -> list[str]:
    result = documents.read("same_end")
    programs = len(result["programs"])
    lines = []
    for what, way in (
        ("With the heap preloaded", "heap_differs"),
        ("Under the recorder", "recorder_differs"),
    ):
        names = f"; not {', '.join(result[way])}" if result[way] else ""
        lines.append(f"- {what}: {programs - len(result[way])} of {programs}{names}.")
    return [*lines, "", f"{', '.join(result['programs'])}. {documents.said([result])}"]


TAKEN = {
    "cause": fields({"scenarios": each(fields({}, but=("bytes_of",)))}),
    "slow": as_is,
    "same_end": as_is,
}
DOCUMENT = "docs/truth.md"
BLOCKS = [
    documents.below(DOCUMENT, "cause", lambda: "\n".join(memory())),
    documents.below(DOCUMENT, "slow", lambda: "\n".join(slow_calls())),
    documents.below(DOCUMENT, "same_end", lambda: "\n".join(same_end())),
]
