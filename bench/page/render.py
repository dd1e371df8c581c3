#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Puts bench/results/page.json into docs/html.md: see bench/documents.py for the options."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median
from typing import Any

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import documents  # noqa: E402
import sources  # noqa: E402

WHAT = {
    "sqlite3": "sqlite3, an in-memory script",
    "cc1plus": "cc1plus -O2, one C++ file",
    "service": "a made-up service, 53,000 stacks",
}


def span(values: list[float]) -> str:
    """Median, lowest and highest."""
    return f"{median(values):,.0f} ({min(values):,.0f}–{max(values):,.0f})"


def row(of: dict[str, Any]) -> str:
    steps = of["loads"][-1]["steps_ms"]
    return (
        f"| {WHAT[of['name']]} | {of['events']:,} | {of['page_bytes'] / 1e6:.2f} | {of['seconds']:.1f} | "
        f"{of['peak_bytes'] / 1e6:,.0f} | {span([load['first_paint_ms'] for load in of['loads']])} | "
        f"{span([load['interactive_ms'] for load in of['loads']])} | {span(steps['memory'])} | "
        f"{span(steps['where'])} |"
    )


def main() -> int:
    result = json.loads((project / "bench/results/page.json").read_text())
    rows, machine = result["pages"], result["machine"]
    loads = [load["load_average"] for of in rows for load in [of, *of["loads"]]]
    beside = ": other work ran beside it" if max(loads) > machine["cpus"] + 1 else ""
    lines = [
        "| recording | events | page, MB | written in, s | peak memory, MB | first paint, ms | "
        "interactive, ms | step, memory over time, ms | step, call paths, ms |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
        *map(row, rows),
        "",
        f"Median and range of {len(rows[0]['loads'])} loads in Chromium {result['browser']}, of "
        f"{len(rows[0]['loads'][-1]['steps_ms']['memory'])} steps of the span; {machine['cpus']} CPUs, "
        f"{machine['cpu']}, load average {min(loads):.1f} to {max(loads):.1f} meanwhile{beside}. "
        f"{sources.said([result])}",
    ]
    return documents.give_results(project / "docs/html.md", "\n".join(lines))


if __name__ == "__main__":
    sys.exit(main())
