#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How much memory a program holds whose blocks grow from size to size, in turns.

    ratchet.py [--turns 3] [--output bench/results/heap-ratchet.json] NAME=LIBRARY ...

Runs bench/heap/ratchet.cpp with each library preloaded; glibc runs without one. Memory: on any machine; the
CPU time on an idle one only.
"""

import sys
from pathlib import Path
from statistics import median
from typing import Any

from heapwright.measure.turns import turns
from preloaded import options_of, printed_by, written

# Sizes, the step between two, megabytes of each, one of how many is kept.
CASES = ((176, 16, 21, 64), (176, 16, 62, 64), (176, 16, 7, 8), (176, 32, 21, 64))
FIGURES = ("live_kib", "peak_kib", "end_kib", "cpu_ms")


def measure(program: Path, heaps: dict[str, str], rounds: int) -> list[dict[str, Any]]:
    runs = []
    for turn, case, name in turns(rounds, list(CASES), list(heaps)):
        words = printed_by(program, heaps[name], *case).split()
        named = dict(zip(("sizes", "step_bytes", "megabytes", "keep"), case, strict=True))
        figures = dict(zip(FIGURES, map(int, words), strict=True))
        runs.append({"heap": name, **named, "turn": turn, **figures})
    return runs


def table(runs: list[dict[str, Any]]) -> list[str]:
    """Medians."""
    lines = [f"{'step':>4} {'MB':>3} {'1 of':>4} {'heap':12} {'live':>5} {'peak MiB':>8} {'CPU s':>6}"]
    key = ("step_bytes", "megabytes", "keep", "heap")
    for case in dict.fromkeys(tuple(run[name] for name in key) for run in runs):
        of = [run for run in runs if tuple(run[name] for name in key) == case]
        live, peak = (median(run[name] for run in of) / 1024 for name in ("live_kib", "peak_kib"))
        cpu_s = median(run["cpu_ms"] for run in of) / 1000
        lines.append(f"{case[0]:4} {case[1]:3} {case[2]:4} {case[3]:12} {live:5.0f} {peak:8.0f} {cpu_s:6.2f}")
    return lines


def main() -> int:
    options = options_of(__doc__, 3, "heap-ratchet.json")
    return written(
        options.output, "ratchet.cpp", lambda program: measure(program, options.heaps, options.turns), table
    )


if __name__ == "__main__":
    sys.exit(main())
