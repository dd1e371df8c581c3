#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Puts cause.json, slow.json and same_end.json of bench/results into docs/truth.md.

See bench/documents.py for the options.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from heapwright.report import units

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import documents  # noqa: E402
import sources  # noqa: E402

MEBIBYTE = 1 << 20
results = project / "bench/results"


def mebibytes(count: int) -> str:
    return f"{count / MEBIBYTE:.1f}"


def off(truth: dict[str, Any]) -> str:
    """How far what was said is from the truth, of the truth."""
    said, real = truth["said_bytes"], truth["real_bytes"]
    if abs(said - real) < MEBIBYTE:
        return "< 1 MiB"
    return f"{100 * (said - real) / real:+.0f} %" if real > 0 else "said too much"


def row(of: dict[str, Any]) -> str:
    said = f"{of['verdict']}: {of['cause']}" if of["cause"] else of["verdict"]
    said += f", of {of['owner']}" if of.get("owner") else ""
    real = of["real"] + (f": {of['real_owner']}" if of.get("real_owner") else "")
    truths = "; ".join(
        f"{truth['what']}: {'at most ' if truth['is_bound'] else ''}{mebibytes(truth['said_bytes'])}, "
        f"really {mebibytes(truth['real_bytes'])} ({off(truth)})"
        for truth in of["truths"]
    )
    right = "yes" if of["is_right"] else "**no**"
    return (
        f"| {of['name']} | {real} | {said} | {right} | {mebibytes(of['free_bytes'])} of "
        f"{mebibytes(of['resident_bytes'])} | {truths or '–'} | {of['seconds']:.0f} |"
    )


def read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((results / name).read_text())
    return found


def memory() -> list[str]:
    result = read("cause.json")
    rows = result["scenarios"]
    return [
        "| scenario | real cause | said | right | free, MiB | said and found without the recorder, MiB | s |",
        "|---|---|---|---|--:|---|--:|",
        *map(row, rows),
        "",
        f"{sum(of['is_right'] for of in rows)} of {len(rows)} verdicts are right. {sources.said([result])}",
    ]


def shown(value: int, unit: str) -> str:
    if unit == "bytes":
        return units.size(value)
    return units.duration(value) if unit == "ns" else f"{value:,}"


def slow_figure(of: dict[str, Any]) -> str:
    said, real = of["said"], of["real"]
    bound = "at most " if of["is_bound"] else ""
    difference = f" ({100 * (said - real) / real:+.0f} %)" if real else ""
    return f"{of['what']}: {bound}{shown(said, of['unit'])}, really {shown(real, of['unit'])}{difference}"


def slow_row(of: dict[str, Any]) -> str:
    figures = "; ".join(map(slow_figure, of["figures"]))
    right = "yes" if of["is_right"] else "**no**"
    return (
        f"| {of['name']} | {of['real']} | {of['witness']} | {of['said']} | {right} | {figures} "
        f"| {of['seconds']:.0f} |"
    )


def slow_calls() -> list[str]:
    result = read("slow.json")
    rows = result["scenarios"]
    return [
        "| scenario | real cause | known by | said | right | said and found by others | s |",
        "|---|---|---|---|---|---|--:|",
        *map(slow_row, rows),
        "",
        f"{sum(of['is_right'] for of in rows)} of {len(rows)} verdicts are right. {sources.said([result])} "
        f"Load average {result['machine']['load_average']:.1f}: times are those of a machine so busy.",
    ]


def same_end() -> list[str]:
    result = read("same_end.json")
    programs = len(result["programs"])
    lines = []
    for what, way in (
        ("With the heap preloaded", "heap_differs"),
        ("Under the recorder", "recorder_differs"),
    ):
        names = f"; not {', '.join(result[way])}" if result[way] else ""
        lines.append(f"- {what}: {programs - len(result[way])} of {programs}{names}.")
    return [*lines, "", f"{', '.join(result['programs'])}. {sources.said([result])}"]


def main() -> int:
    document = project / "docs/truth.md"
    text = document.read_text(encoding="utf-8")
    for name, lines in (("cause", memory), ("slow", slow_calls), ("same_end", same_end)):
        begin, end = f"<!-- figures: bench/results/{name}.json -->", "<!-- /figures -->"
        before, _, rest = text.partition(f"{begin}\n")
        _, _, after = rest.partition(end)
        text = "\n".join([f"{before}{begin}", *lines(), f"{end}{after}"])
    return documents.give(document, text)


if __name__ == "__main__":
    sys.exit(main())
