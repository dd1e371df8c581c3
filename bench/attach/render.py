#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the tables of attaching in docs/count.md, and of record --pid in docs/record.md.

They stand between two marks in each; options as in bench/documents.py.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from heapwright.report import markdown, units

sys.path.append(str(Path(__file__).resolve().parents[1]))
import documents

stop_heads = ["attach: median", "p99", "most", "detach: median", "p99", "most"]


def spread(values: Sequence[int]) -> list[str]:
    """Median, p99 and the most."""
    ordered = sorted(values)
    p99 = ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]
    return [units.duration(value) for value in (median(ordered), p99, ordered[-1])]


def calls(found: dict[str, Any]) -> list[str]:
    """Recorded and lost; nothing where calls are only counted."""
    return [units.count(sum(found[name])) for name in ("events", "dropped") if name in found]


def render(name: str) -> str:
    """The tables of bench/results/NAME.json."""
    document = documents.read(name)
    times = document["pair_ns"]
    rows = [
        [process, units.count(len(found["attach_ns"])), *spread(found["attach_ns"]),
         *spread(found["detach_ns"]), *calls(found), "no" if found["exit_code"] == 0 else "yes"]
        for process, found in document["stops"].items()
    ]  # fmt: skip
    recorded = ["calls", "dropped"] if name == "record_process" else []
    pairs = [[state, f"{min(runs):.1f} ns", f"{median(runs):.1f} ns"] for state, runs in times.items()]
    lines = [
        documents.figures_of(name),
        "",
        f"Measured on {documents.machine_of(document)} at the end.",
        "",
        documents.said([document]),
        "",
        "How long the process was stopped, from the first thread's stop to the last one's resumption:",
        "",
        *markdown.table(["process", "cycles", *stop_heads, *recorded, "harm"], rows),
        "",
        f"Processor time of a malloc and a free in one process, {len(times['before'])} runs each; "
        "the others in turns:",
        "",
        *markdown.table(["", "least", "median"], pairs),
    ]
    return "\n".join(lines)


def main() -> int:
    """The exit code."""
    shown = (("count", "attach"), ("record", "record_process"))
    folder = documents.project / "docs"
    return max(documents.give_results(folder / f"{page}.md", render(name), name) for page, name in shown)


if __name__ == "__main__":
    sys.exit(main())
