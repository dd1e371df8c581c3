#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How much memory stays where one thread makes blocks and sleeps, and others free them, in turns.

    other_thread.py [--turns 3] [--output bench/results/heap-other-thread.json] NAME=LIBRARY ...

Runs bench/heap/other_thread.cpp with each library preloaded; glibc's own runs without one, ours by calls
alone and with its thread. Memory: on any machine; the milliseconds on an idle one only.
"""

import sys
from pathlib import Path
from statistics import median
from typing import Any

from heapwright.measure.turns import turns
from preloaded import options_of, printed_by, written

MEGABYTES = 400
SIZES = ((1000, 1000), (1000, 200), (64, 64))
MAINTENANCE = {"heapwright, calls": "calls", "heapwright, thread": "thread"}
RESIDENT = ("made_kib", "freed_kib", "next_kib", "after_0_s_kib", "after_2_s_kib", "after_5_s_kib")
FIGURES = (*RESIDENT, "after_10_s_kib", "free_ms", "make_ms")


def measure(program: Path, heaps: dict[str, str], rounds: int) -> list[dict[str, Any]]:
    runs = []
    for turn, (size, next_size), name in turns(rounds, list(SIZES), list(heaps)):
        variables = {"HEAPWRIGHT_HEAP_MAINTENANCE": MAINTENANCE[name]} if name in MAINTENANCE else {}
        words = printed_by(program, heaps[name], MEGABYTES, size, next_size, **variables).split()
        figures = dict(zip(FIGURES, map(int, words), strict=True))
        runs.append({"heap": name, "bytes": size, "next_bytes": next_size, "turn": turn, **figures})
    return runs


def table(runs: list[dict[str, Any]]) -> list[str]:
    """Medians."""
    lines = [
        f"{'bytes':>5} {'next':>5} {'heap':20} "
        + " ".join(f"{name.removesuffix('_kib'):>11}" for name in FIGURES)
    ]
    for size, next_size, name in dict.fromkeys(
        (run["bytes"], run["next_bytes"], run["heap"]) for run in runs
    ):
        of = [
            run for run in runs if (run["bytes"], run["next_bytes"], run["heap"]) == (size, next_size, name)
        ]
        mib = [f"{median(run[key] for run in of) / 1024:11.0f}" for key in FIGURES[:7]]
        ms = [f"{median(run[key] for run in of):11.0f}" for key in FIGURES[7:]]
        lines.append(f"{size:5} {next_size:5} {name:20} {' '.join(mib + ms)}")
    return lines


def main() -> int:
    options = options_of(__doc__, 3, "heap-other-thread.json")
    ours = options.heaps.pop("heapwright")
    heaps = dict.fromkeys(MAINTENANCE, ours) | options.heaps
    return written(
        options.output,
        "other_thread.cpp",
        lambda program: measure(program, heaps, options.turns),
        table,
        megabytes=MEGABYTES,
    )


if __name__ == "__main__":
    sys.exit(main())
