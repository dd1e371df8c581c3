#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the tables in docs/live.md from bench/results/count.json; no figure there is typed by hand.

They stand between two marks in the document; options as in bench/documents.py.
"""

import json
import sys
from pathlib import Path
from statistics import median

from heapwright.report import markdown, units

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import documents  # noqa: E402
import sources  # noqa: E402

document_path = project / "docs/live.md"
results_path = project / "bench/results/count.json"


def more(before: float, after: float) -> str:
    """How much more the second is."""
    return f"{100 * (after - before) / before:+.1f} %".replace("-", "−")


def render() -> str:
    """Both tables."""
    document = json.loads(results_path.read_text(encoding="utf-8"))
    machine, pair, times = document["machine"], document["instructions_per_pair"], document["pair_ns"]
    virtual = " (virtual)" if machine["is_virtual"] else ""
    rows = [
        [
            name,
            units.count(found["calls"]),
            units.count(found["instructions"]["bare"] / found["calls"]) if found["calls"] else "–",
            more(found["instructions"]["bare"], found["instructions"]["count"]),
            more(min(found["cpu_ns"]["bare"]), min(found["cpu_ns"]["count"])),
            more(median(found["cpu_ns"]["bare"]), median(found["cpu_ns"]["count"])),
        ]
        for name, found in document["programs"].items()
    ]
    pairs = [[name, f"{min(runs):.1f} ns", f"{median(runs):.1f} ns"] for name, runs in times.items()]
    lines = [
        f"<!-- figures: {results_path.relative_to(project).as_posix()} -->",
        "",
        f"Measured on {machine['cpu']}{virtual}, {machine['cpus']} CPUs, {machine['libc']}, load average "
        f"{machine['load_average']} at the end; {len(times['bare'])} runs in turns.",
        "",
        sources.said([document]),
        "",
        f"A malloc and a free of the tight loop take {pair['bare']:.0f} instructions with glibc, "
        f"{pair['count'] - pair['bare']:.0f} more counted. Instructions are callgrind's and do not change "
        "with the machine's load; processor times do, and a few percent between them are noise here.",
        "",
        *markdown.table(
            ["program", "heap calls", "instructions a call", "instructions", "time, least", "time, median"],
            rows,
        ),
        "",
        "The same loop beside the samplers that allocators bring (one sample in 512 KiB), processor time "
        "of a pair:",
        "",
        *markdown.table(["with", "least", "median"], pairs),
    ]
    return "\n".join(lines)


def main() -> int:
    """The exit code."""
    return documents.give_results(document_path, render())


if __name__ == "__main__":
    sys.exit(main())
