#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the tables of attaching in docs/live.md from bench/results/attach.json.

They stand between two marks in the document; options as in bench/documents.py.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from heapwright.report import markdown, units

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import documents  # noqa: E402
import sources  # noqa: E402

document_path = project / "docs/live.md"
results_path = project / "bench/results/attach.json"


def spread(values: Sequence[int]) -> list[str]:
    """Median, p99 and the most."""
    ordered = sorted(values)
    p99 = ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]
    return [units.duration(value) for value in (median(ordered), p99, ordered[-1])]


def render() -> str:
    """Both tables."""
    document = json.loads(results_path.read_text(encoding="utf-8"))
    machine, times = document["machine"], document["pair_ns"]
    virtual = " (virtual)" if machine["is_virtual"] else ""
    rows = [
        [name, units.count(len(found["attach_ns"])), *spread(found["attach_ns"]), *spread(found["detach_ns"]),
         "no" if found["exit_code"] == 0 else "yes"]
        for name, found in document["stops"].items()
    ]  # fmt: skip
    pairs = [[name, f"{min(runs):.1f} ns", f"{median(runs):.1f} ns"] for name, runs in times.items()]
    lines = [
        f"<!-- figures: {results_path.relative_to(project).as_posix()} -->",
        "",
        f"Measured on {machine['cpu']}{virtual}, {machine['cpus']} CPUs, {machine['libc']}, load average "
        f"{machine['load_average']} at the end.",
        "",
        sources.said([document]),
        "",
        "How long the process stood still, from the first thread's stop to the last one's resumption:",
        "",
        *markdown.table(
            ["process", "cycles", "attach: median", "p99", "most", "detach: median", "p99", "most", "harm"],
            rows,
        ),
        "",
        f"A malloc and a free of one process, processor time, {len(times['before'])} runs each; "
        "attached and after in turns:",
        "",
        *markdown.table(["", "least", "median"], pairs),
    ]
    return "\n".join(lines)


def main() -> int:
    """The exit code."""
    return documents.give_results(document_path, render(), "attach")


if __name__ == "__main__":
    sys.exit(main())
