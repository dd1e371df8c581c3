#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How much stays with an idle process after most of its memory was freed, beside what has to stay, in turns.

    page_floor.py [--turns 1] [--output bench/results/heap-page-floor.json] NAME=LIBRARY ...

Runs bench/heap/give_back.cpp, which frees all but 6 of 64 blocks of 1000 bytes and calls nothing for 10 s,
with each library preloaded; ours with its thread. What has to stay are the pages that hold a block. Memory,
no time: on any machine with 14 GB.
"""

import sys
from pathlib import Path
from statistics import median
from typing import Any

from give_back import RESIDENT
from heapwright.measure.turns import turns
from preloaded import options_of, printed_by, written

MEGABYTES = (500, 5000, 12000)


def measure(program: Path, heaps: dict[str, str], rounds: int) -> list[dict[str, Any]]:
    runs = []
    for turn, size, name in turns(rounds, MEGABYTES, list(heaps)):
        words = printed_by(program, heaps[name], "idle", size, HEAPWRIGHT_HEAP_MAINTENANCE="thread").split()
        figures = dict(zip(RESIDENT, map(int, words), strict=True))
        runs.append({"heap": name, "megabytes": size, "turn": turn, **figures})
    return runs


def table(runs: list[dict[str, Any]]) -> list[str]:
    """Medians, MiB."""
    lines = [f"{'MB':>5} {'heap':12} {'made':>6} {'10 s':>6} {'floor':>6} {'ratio':>6}"]
    for size, name in dict.fromkeys((run["megabytes"], run["heap"]) for run in runs):
        of = [run for run in runs if (run["megabytes"], run["heap"]) == (size, name)]
        keys = ("made_kib", "after_10_s_kib", "floor_kib")
        made, held, floor = (median(run[key] for run in of) / 1024 for key in keys)
        lines.append(f"{size:5} {name:12} {made:6.0f} {held:6.0f} {floor:6.0f} {held / floor:6.2f}")
    return lines


def main() -> int:
    options = options_of(__doc__, 1, "heap-page-floor.json")
    return written(
        options.output, "give_back.cpp", lambda program: measure(program, options.heaps, options.turns), table
    )


if __name__ == "__main__":
    sys.exit(main())
