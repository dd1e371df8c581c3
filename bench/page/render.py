#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Puts bench/results/page.json into docs/html.md: see bench/documents.py for the options."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median
from typing import Any

from heapwright.report import markdown

sys.path.append(str(Path(__file__).resolve().parents[1]))
import documents

WHAT = {
    "sqlite3": "sqlite3, an in-memory script",
    "cc1plus": "cc1plus -O2, one C++ file",
    "service": "a synthetic service, 53,000 stacks",
}


def span(values: list[float]) -> str:
    """Median, lowest and highest."""
    return f"{median(values):,.0f} ({min(values):,.0f}–{max(values):,.0f})"


def row(of: dict[str, Any]) -> list[str]:
    steps = of["loads"][-1]["steps_ms"]
    return [
        WHAT[of["name"]],
        f"{of['events']:,}",
        f"{of['page_bytes'] / 1e6:.2f}",
        f"{of['seconds']:.1f}",
        f"{of['peak_bytes'] / 1e6:,.0f}",
        span([load["first_paint_ms"] for load in of["loads"]]),
        span([load["interactive_ms"] for load in of["loads"]]),
        span(steps["memory"]),
        span(steps["where"]),
    ]


def main() -> int:
    result = documents.read("page")
    rows, machine = result["pages"], result["machine"]
    loads = [load["load_average"] for of in rows for load in [of, *of["loads"]]]
    load, beside = documents.load_of(loads, machine["cpus"])
    head = ["recording", "events", "page, MB", "written in, s", "peak memory, MB", "first paint, ms",
            "interactive, ms", "step, memory over time, ms", "step, call paths, ms"]  # fmt: skip
    lines = [
        *markdown.table(head, map(row, rows)),
        f"Median and range of {len(rows[0]['loads'])} loads in Chromium {result['browser']}, of "
        f"{len(rows[0]['loads'][-1]['steps_ms']['memory'])} steps of the span; {machine['cpus']} CPUs, "
        f"{machine['cpu']}, {load} meanwhile{beside}. "
        f"{documents.said([result])}",
    ]
    return documents.give_results(documents.project / "docs/html.md", "\n".join(lines))


if __name__ == "__main__":
    sys.exit(main())
