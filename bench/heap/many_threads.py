#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How much memory is with a process whose threads are many, and come and go, in turns.

    many_threads.py [--turns 5] [--output bench/results/heap-many-threads.json] NAME=LIBRARY ...

Runs bench/heap/many_threads.cpp with each library preloaded; glibc's own runs without one, ours by calls
alone and with its thread. Memory, no time: on any machine.
"""

import sys
from pathlib import Path
from statistics import median
from typing import Any

from heapwright.measure.turns import turns
from preloaded import options_of, printed_by, written

THREADS = 500
# The largest blocks, and how often all threads change.
LOADS = ((200_000, 1), (2_000, 40))
MAINTENANCE = {"heapwright, calls": "calls", "heapwright, thread": "thread"}
FIGURES = ("writable_kib", "first_kib", "last_kib", "after_5_s_kib")


def measure(program: Path, heaps: dict[str, str], rounds: int) -> list[dict[str, Any]]:
    runs = []
    for turn, (most_bytes, changes), name in turns(rounds, list(LOADS), list(heaps)):
        variables = {"HEAPWRIGHT_HEAP_MAINTENANCE": MAINTENANCE[name]} if name in MAINTENANCE else {}
        words = printed_by(program, heaps[name], THREADS, most_bytes, changes, **variables).split()
        figures = dict(zip(FIGURES, map(int, words), strict=True))
        runs.append({"heap": name, "most_bytes": most_bytes, "rounds": changes, "turn": turn, **figures})
    return runs


def table(runs: list[dict[str, Any]]) -> list[str]:
    """MiB, least to most of the turns and the median."""
    lines = [f"{'rounds':>6} {'heap':20} " + " ".join(f"{name:>24}" for name in FIGURES)]
    for rounds, name in dict.fromkeys((run["rounds"], run["heap"]) for run in runs):
        of = [run for run in runs if (run["rounds"], run["heap"]) == (rounds, name)]
        cells = []
        for figure in FIGURES:
            mib = sorted(run[figure] / 1024 for run in of)
            cells.append(f"{median(mib):8.0f} ({mib[0]:.0f} to {mib[-1]:.0f})".rjust(24))
        lines.append(f"{rounds:6} {name:20} {' '.join(cells)}")
    return lines


def main() -> int:
    options = options_of(__doc__, 5, "heap-many-threads.json")
    ours = options.heaps.pop("heapwright")
    heaps = dict.fromkeys(MAINTENANCE, ours) | options.heaps
    return written(
        options.output,
        "many_threads.cpp",
        lambda program: measure(program, heaps, options.turns),
        table,
        threads=THREADS,
    )


if __name__ == "__main__":
    sys.exit(main())
