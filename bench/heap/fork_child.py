#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How much a fork's child grows that allocates as much as the threads of its parent had freed, in turns.

    fork_child.py [--turns 3] [--output bench/results/heap-fork-child.json] NAME=LIBRARY ...

Runs bench/heap/fork_child.cpp with each library preloaded; glibc runs without one. Memory: on any machine;
the time of a fork on an idle one only.
"""

import sys
from pathlib import Path
from statistics import median
from typing import Any

from heapwright.measure.turns import turns
from preloaded import options_of, printed_by, written

THREADS = (2, 8, 32)
MEGABYTES = 100
FIGURES = ("made_kib", "freed_kib", "child_kib", "child_made_kib", "fork_us")


def measure(program: Path, heaps: dict[str, str], rounds: int) -> list[dict[str, Any]]:
    runs = []
    for turn, threads, name in turns(rounds, list(THREADS), list(heaps)):
        words = printed_by(program, heaps[name], threads, MEGABYTES).split()
        figures = dict(zip(FIGURES, map(int, words), strict=True))
        runs.append({"heap": name, "threads": threads, "turn": turn, **figures})
    return runs


def table(runs: list[dict[str, Any]]) -> list[str]:
    """Medians."""
    lines = [f"{'threads':>7} {'heap':12} {'at its begin':>12} {'grown MiB':>9} {'fork us':>8}"]
    for threads, name in dict.fromkeys((run["threads"], run["heap"]) for run in runs):
        of = [run for run in runs if (run["threads"], run["heap"]) == (threads, name)]
        begin = median(run["child_kib"] for run in of) / 1024
        grown = median(run["child_made_kib"] - run["child_kib"] for run in of) / 1024
        fork_us = median(run["fork_us"] for run in of)
        lines.append(f"{threads:7} {name:12} {begin:12.0f} {grown:9.1f} {fork_us:8.0f}")
    return lines


def main() -> int:
    options = options_of(__doc__, 3, "heap-fork-child.json")
    return written(
        options.output,
        "fork_child.cpp",
        lambda program: measure(program, options.heaps, options.turns),
        table,
        megabytes=MEGABYTES,
    )


if __name__ == "__main__":
    sys.exit(main())
