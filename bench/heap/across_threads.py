#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures blocks that one thread makes and another frees, beside other heaps, in turns.

    across_threads.py [--turns 5] [--output bench/results/heap-across-threads.json] NAME=LIBRARY ...

Runs bench/heap/across_threads.cpp with each library preloaded; glibc's own runs without one. For an idle
machine: the threads have to run at the same time.
"""

import sys
from pathlib import Path
from statistics import median
from typing import Any

from heapwright.measure.turns import turns
from preloaded import options_of, printed_by, written

FIGURES = ("blocks_per_s", "cpu_ns", "peak_bytes")
LOADS = ("batches 1", "batches 4", "successors 2", "successors 16", "medium 2", "medium 16")


def measure(program: Path, heaps: dict[str, str], rounds: int) -> list[dict[str, Any]]:
    runs = []
    for turn, load, name in turns(rounds, LOADS, list(heaps)):
        figures = map(float, printed_by(program, heaps[name], *load.split()).split())
        runs.append({"heap": name, "load": load, "turn": turn, **dict(zip(FIGURES, figures, strict=True))})
    return runs


def table(runs: list[dict[str, Any]]) -> list[str]:
    """Medians."""
    lines = [f"{'load':14} {'heap':20} {'M blocks/s':>11} {'CPU, ns':>8} {'peak, MiB':>9}"]
    for load, name in dict.fromkeys((run["load"], run["heap"]) for run in runs):
        of = [run for run in runs if (run["load"], run["heap"]) == (load, name)]
        rate, cpu_ns, peak = (
            median(run[key] for run in of) for key in ("blocks_per_s", "cpu_ns", "peak_bytes")
        )
        lines.append(f"{load:14} {name:20} {rate / 1e6:11.2f} {cpu_ns:8.1f} {peak / 2**20:9.1f}")
    return lines


def main() -> int:
    options = options_of(__doc__, 5, "heap-across-threads.json")
    return written(
        options.output,
        "across_threads.cpp",
        lambda program: measure(program, options.heaps, options.turns),
        table,
    )


if __name__ == "__main__":
    sys.exit(main())
