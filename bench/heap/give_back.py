#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How much memory stays with a process after most of it was freed, and what giving it back costs, in turns.

    give_back.py [--turns 3] [--output bench/results/heap-give-back.json] NAME=LIBRARY ...

Runs bench/heap/give_back.cpp with each library preloaded; glibc's own runs without one, ours by calls alone
and with its thread. Times are of each call, so a busy machine shows in them: on an idle one only.
"""

import sys
from pathlib import Path
from statistics import median
from typing import Any

from heapwright.measure.turns import turns
from preloaded import options_of, printed_by, written

WAYS = ("idle", "paced", "bursts")
MEGABYTES = (491, 5000)
MAINTENANCE = {"heapwright, calls": "calls", "heapwright, thread": "thread"}
RESIDENT = ("made_kib", "freed_kib", "after_2_s_kib", "after_5_s_kib", "after_10_s_kib", "floor_kib")
TIMES = ("p50_ns", "p999_ns", "p9999_ns", "max_ns")


def measure(program: Path, heaps: dict[str, str], rounds: int) -> list[dict[str, Any]]:
    runs = []
    for turn, case, name in turns(rounds, [(way, size) for size in MEGABYTES for way in WAYS], list(heaps)):
        variables = {"HEAPWRIGHT_HEAP_MAINTENANCE": MAINTENANCE[name]} if name in MAINTENANCE else {}
        figures = [int(word) for word in printed_by(program, heaps[name], *case, **variables).split()]
        named = dict(zip((*RESIDENT, *TIMES), figures, strict=False))
        runs.append({"heap": name, "way": case[0], "megabytes": case[1], "turn": turn, **named})
    return runs


def table(runs: list[dict[str, Any]]) -> list[str]:
    """Medians."""
    heads = " ".join(f"{head:>6}" for head in ("2 s", "5 s", "10 s", "floor"))
    lines = [f"{'MB':>5} {'way':7} {'heap':20} {heads} {'p99.9':>9} {'p99.99 ns':>9}"]
    for way, size, name in dict.fromkeys((run["way"], run["megabytes"], run["heap"]) for run in runs):
        of = [run for run in runs if (run["way"], run["megabytes"], run["heap"]) == (way, size, name)]
        held = " ".join(
            f"{median(run[key] for run in of) / 1024:6.0f}" for key in RESIDENT[2:] if key in of[0]
        )
        times = [f"{median(run[key] for run in of):9.0f}" if key in of[0] else "" for key in TIMES[1:3]]
        lines.append(f"{size:5} {way:7} {name:20} {held} {' '.join(times)}")
    return lines


def main() -> int:
    options = options_of(__doc__, 3, "heap-give-back.json")
    ours = options.heaps.pop("heapwright")
    heaps = dict.fromkeys(MAINTENANCE, ours) | options.heaps
    return written(
        options.output, "give_back.cpp", lambda program: measure(program, heaps, options.turns), table
    )


if __name__ == "__main__":
    sys.exit(main())
