#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether a block's time from producer to consumer is that of the two CPUs, which a host may move.

    handover.py [--turns N] [--output FILE] NAME=LIBRARY ...

Each run takes the time of a cache line from CPU to CPU, then that of a block. Prints medians of the
runs in which a line took less than 120 ns, and of the others. Runs are added to those that
build/results/heap-handover.json has of the same sources: a host moves CPUs every few minutes at most.
"""

import json
import sys
from pathlib import Path
from statistics import median
from typing import Any

from heapwright.measure.turns import turns
from preloaded import options_of, printed_by, sources, written

BLOCKS = 2_000_000
FAR_NS = 120


def earlier(results: Path) -> list[dict[str, Any]]:
    """Runs of the same sources."""
    if not results.exists():
        return []
    found = json.loads(results.read_text(encoding="utf-8"))
    is_same = found["sources"]["hashes"] == sources.stamp("heap")["hashes"]
    return list(found["runs"]) if is_same else []


def measure(program: Any, heaps: dict[str, str], rounds: int) -> list[dict[str, Any]]:
    runs = []
    for turn, _, name in turns(rounds, [()], list(heaps)):
        line_ns, block_ns = map(float, printed_by(program, heaps[name], BLOCKS).split())
        runs.append({"heap": name, "turn": turn, "line_ns": line_ns, "block_ns": block_ns})
    return runs


def table(runs: list[dict[str, Any]]) -> list[str]:
    lines = [f"{'heap':20}{'state':>9}{'runs':>6}{'line_ns':>9}{'block_ns':>10}"]
    for heap in dict.fromkeys(run["heap"] for run in runs):
        for state in ("near", "far"):
            of = [r for r in runs if r["heap"] == heap and (r["line_ns"] >= FAR_NS) == (state == "far")]
            if of:
                line, block = (median(run[figure] for run in of) for figure in ("line_ns", "block_ns"))
                lines.append(f"{heap:20}{state:>9}{len(of):6}{line:9.1f}{block:10.1f}")
    return lines


def main() -> int:
    options = options_of(__doc__, 40, "heap-handover.json")
    return written(
        options.output,
        "handover.cpp",
        lambda program: earlier(options.output) + measure(program, options.heaps, options.turns),
        table,
    )


if __name__ == "__main__":
    sys.exit(main())
