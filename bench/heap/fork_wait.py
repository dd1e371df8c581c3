#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long forks take while another thread's memory is given back, in turns.

    fork_wait.py [--turns 5] [--output bench/results/heap-fork-wait.json] NAME=LIBRARY ...

Runs bench/heap/fork_wait.cpp with each library preloaded; glibc runs without one. On an idle machine.
"""

import sys
from pathlib import Path
from statistics import median
from typing import Any

from heapwright.measure.turns import turns
from preloaded import options_of, printed_by, written

LOADS = ("none", "huge", "mixed", "small")
SECONDS = 5
FIGURES = ("forks", "median_us", "p99_us", "longest_us")


def measure(program: Path, heaps: dict[str, str], rounds: int) -> list[dict[str, Any]]:
    runs = []
    for turn, load, name in turns(rounds, list(LOADS), list(heaps)):
        words = printed_by(program, heaps[name], load, SECONDS).split()
        figures = dict(zip(FIGURES, map(int, words), strict=True))
        runs.append({"heap": name, "load": load, "turn": turn, **figures})
    return runs


def table(runs: list[dict[str, Any]]) -> list[str]:
    """Medians of the turns; the longest of all."""
    lines = [f"{'load':6} {'heap':12} {'median us':>10} {'p99 us':>8} {'longest us':>11}"]
    for load, name in dict.fromkeys((run["load"], run["heap"]) for run in runs):
        of = [run for run in runs if (run["load"], run["heap"]) == (load, name)]
        middle = median(run["median_us"] for run in of)
        p99 = median(run["p99_us"] for run in of)
        longest = max(run["longest_us"] for run in of)
        lines.append(f"{load:6} {name:12} {middle:10.0f} {p99:8.0f} {longest:11}")
    return lines


def main() -> int:
    options = options_of(__doc__, 5, "heap-fork-wait.json")
    return written(
        options.output,
        "fork_wait.cpp",
        lambda program: measure(program, options.heaps, options.turns),
        table,
        seconds=SECONDS,
    )


if __name__ == "__main__":
    sys.exit(main())
