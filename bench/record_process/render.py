#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the tables of record --pid in docs/record.md from bench/results/record_process.json.

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

document_path = project / "docs/record.md"
results_path = project / "bench/results/record_process.json"


def spread(values: Sequence[int]) -> list[str]:
    """Median and the most."""
    return [units.duration(value) for value in (median(values), max(values))]


def render() -> str:
    """Both tables."""
    document = json.loads(results_path.read_text(encoding="utf-8"))
    machine, times = document["machine"], document["pair_ns"]
    virtual = " (virtual)" if machine["is_virtual"] else ""
    rows = [
        [name, units.count(len(found["attach_ns"])), *spread(found["attach_ns"]), *spread(found["detach_ns"]),
         units.count(found["events"]), units.count(found["dropped"]),
         "no" if found["exit_code"] == 0 else "yes"]
        for name, found in document["stops"].items()
    ]  # fmt: skip
    pairs = [[name, f"{min(runs):.1f} ns", f"{median(runs):.1f} ns"] for name, runs in times.items()]
    heads = ["process", "recordings", "attach: median", "most", "detach: median", "most", "calls", "dropped"]
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
        *markdown.table([*heads, "harm"], rows),
        "",
        f"A malloc and a free of one process, processor time, {len(times['before'])} runs each:",
        "",
        *markdown.table(["", "least", "median"], pairs),
    ]
    return "\n".join(lines)


def main() -> int:
    """The exit code."""
    return documents.give_results(document_path, render(), "record_process")


if __name__ == "__main__":
    sys.exit(main())
