#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures the hardened mode beside other hardened heaps, in turns.

    hardened.py [--turns 9] [--output build/results/heap-hardened.json] NAME=LIBRARY ...

Runs bench/heap/hardened_load.cpp on one and on two threads with each library preloaded; this heap
runs hardened, and without a library the C library's own runs. CPU time bears a busy machine, so
each turn is compared with this heap's in the same turn.
"""

import sys
from pathlib import Path
from statistics import median
from typing import Any

from heapwright.measure.turns import turns
from preloaded import options_of, printed_by, written


def measure(program: Path, heaps: dict[str, str], rounds: int) -> list[dict[str, Any]]:
    runs = []
    for turn, threads, name in turns(rounds, (1, 2), list(heaps)):
        printed = printed_by(program, heaps[name], threads, 1_000_000, HEAPWRIGHT_HEAP_HARDENED="1")
        runs.append({"heap": name, "threads": threads, "turn": turn, "cpu_ns": float(printed)})
    return runs


def table(runs: list[dict[str, Any]]) -> list[str]:
    lines = []
    for threads in (1, 2):
        found = {(r["heap"], r["turn"]): r["cpu_ns"] for r in runs if r["threads"] == threads}
        for name in dict.fromkeys(r["heap"] for r in runs):
            mine = [(ns, found["heapwright", turn]) for (heap, turn), ns in found.items() if heap == name]
            ratio = median(own_ns / ns for ns, own_ns in mine)
            spread = median(abs(own_ns / ns - ratio) for ns, own_ns in mine)
            middle = median(ns for ns, _ in mine)
            lines.append(f"{threads} {name:20} {middle:7.0f} ns   ours / its {ratio:.2f} ± {spread:.2f}")
    return lines


def main() -> int:
    options = options_of(__doc__, 9, "heap-hardened.json")
    return written(
        options.output,
        "hardened_load.cpp",
        lambda program: measure(program, options.heaps, options.turns),
        table,
    )


if __name__ == "__main__":
    sys.exit(main())
