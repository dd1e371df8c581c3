#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the tables in docs/count.md from bench/results/count*.json; no figure there is typed by hand.

They stand between two marks in the document; options as in bench/documents.py.
"""

import sys
from pathlib import Path
from statistics import median
from typing import Any

from heapwright.report import markdown, units

sys.path.append(str(Path(__file__).resolve().parents[1]))
import documents

SAMPLED = "count --sample 512k"


def more(before: float, after: float) -> str:
    """How much more the second is."""
    return f"{100 * (after - before) / before:+.1f} %".replace("-", "−")


def row_of(name: str, found: dict[str, Any], spent: dict[str, Any]) -> list[str]:
    """Of a program."""
    counted, calls, times = found["instructions"], found["calls"], spent["cpu_ns"]
    return [
        name,
        units.count(calls),
        units.count(counted["bare"] / calls) if calls else "–",
        *(more(counted["bare"], counted[way]) for way in ("count", SAMPLED)),
        more(min(times["bare"]), min(times["count"])),
        more(min(times["bare"]), min(times[SAMPLED])) if SAMPLED in times else "not measured",
    ]


def render() -> str:
    """Both tables."""
    counted, timed = documents.read("count_instructions"), documents.read("count")
    pair, times = counted["instructions_per_pair"], timed["pair_ns"]
    rows = [row_of(name, found, timed["programs"][name]) for name, found in counted["programs"].items()]
    pairs = [[name, f"{min(runs):.1f} ns", f"{median(runs):.1f} ns"] for name, runs in times.items()]
    lines = [
        documents.figures_of("count_instructions"),
        documents.figures_of("count"),
        "",
        f"Times: {documents.machine_of(timed)} at the end; {len(times['bare'])} runs in turns. "
        f"{documents.said([timed])}",
        "",
        "Instructions are counted by callgrind and do not depend on the machine's load; processor times do, "
        f"and a few percent between them are noise here. {documents.said([counted])}",
        "",
        f"A malloc and a free in the tight loop take {pair['bare']:.0f} instructions with glibc, "
        f"{pair['count'] - pair['bare']:.0f} more when counted. Sampling one block in 512 KiB adds "
        f"{pair[SAMPLED] - pair['count']:.0f}; in 3 MiB, "
        f"{pair['count --sample 3M'] - pair['count']:.0f}.",
        "",
        *markdown.table(
            [
                "program",
                "heap calls",
                "instructions a call",
                "more, counted",
                "sampled, 512k",
                "time, counted",
                "sampled, 512k",
            ],
            rows,
        ),
        "",
        "Time is the least of the runs, and includes the collector's when sampled. gzip makes no heap call: "
        "its row shows the startup cost.",
        "",
        "The same loop beside allocators' own samplers (one sample in 512 KiB), processor time per pair:",
        "",
        *markdown.table(["with", "least", "median"], pairs),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(documents.give_results(documents.project / "docs/count.md", render()))
