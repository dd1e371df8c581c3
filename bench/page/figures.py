# SPDX-License-Identifier: MIT
"""The times of pages in docs/html.md, of bench/results/page.json."""

from __future__ import annotations

from typing import Any

import documents
from heapwright.report import markdown
from taken import counted, each, fields

WHAT = {
    "sqlite3": "sqlite3, an in-memory script",
    "cc1plus": "cc1plus -O2, one C++ file",
    "service": "a synthetic service, 53,000 stacks",
}


def taken(page: dict[str, Any]) -> dict[str, Any]:
    """A page with the figures of all its loads, and the last one's steps."""
    loads = page["loads"]
    times = ("first_paint_ms", "interactive_ms", "load_average")
    return {
        **{name: value for name, value in page.items() if name != "loads"},
        "loads": {name: counted([load[name] for load in loads]) for name in times},
        "steps_ms": each(counted)(loads[-1]["steps_ms"]),
    }


TAKEN = {"page": fields({"pages": each(taken)})}


def span(of: dict[str, float]) -> str:
    """Median, lowest and highest."""
    return f"{of['median']:,.0f} ({of['low']:,.0f}–{of['high']:,.0f})"


def row(of: dict[str, Any]) -> list[str]:
    steps = of["steps_ms"]
    return [
        WHAT[of["name"]],
        f"{of['events']:,}",
        f"{of['page_bytes'] / 1e6:.2f}",
        f"{of['seconds']:.1f}",
        f"{of['peak_bytes'] / 1e6:,.0f}",
        span(of["loads"]["first_paint_ms"]),
        span(of["loads"]["interactive_ms"]),
        span(steps["memory"]),
        span(steps["where"]),
    ]


def render() -> str:
    result = documents.read("page")
    rows, machine = result["pages"], result["machine"]
    loads = [of["load_average"] for of in rows]
    loads += [of["loads"]["load_average"][end] for of in rows for end in ("low", "high")]
    load, beside = documents.load_of(loads, machine["cpus"])
    head = ["recording", "events", "page, MB", "written in, s", "peak memory, MB", "first paint, ms",
            "interactive, ms", "step, memory over time, ms", "step, call paths, ms"]  # fmt: skip
    lines = [
        *markdown.table(head, map(row, rows)),
        f"Median and range of {rows[0]['loads']['interactive_ms']['runs']} loads in Chromium "
        f"{result['browser']}, of {rows[0]['steps_ms']['memory']['runs']} steps of the span; "
        f"{machine['cpus']} CPUs, {machine['cpu']}, {load} meanwhile{beside}. "
        f"{documents.said([result])}",
    ]
    return "\n".join(lines)


BLOCKS = [documents.marked("docs/html.md", "results", render)]
