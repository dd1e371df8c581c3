#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures blocks of 1 to 32 MiB that come and go, beside other heaps, in turns.

    large_blocks.py [--turns 5] [--output bench/results/heap-large-blocks.json] NAME=LIBRARY ...

Runs bench/heap/large_blocks.cpp with each library preloaded; glibc's own runs without one. CPU time bears a
busy machine; page faults and peaks do not depend on it, but on how often memory was given back meanwhile.
"""

import sys
from pathlib import Path
from statistics import median
from typing import Any

from heapwright.measure.turns import turns
from preloaded import options_of, printed_by, written

LIVE = (1, 2, 8, 24)


def measure(program: Path, heaps: dict[str, str], rounds: int) -> list[dict[str, Any]]:
    runs = []
    for turn, live, name in turns(rounds, LIVE, list(heaps)):
        cpu_s, faults, peak_bytes = printed_by(program, heaps[name], live, 1000).split()
        figures = {"cpu_s": float(cpu_s), "faults": int(faults), "peak_bytes": int(peak_bytes)}
        runs.append({"heap": name, "live": live, "turn": turn, **figures})
    return runs


def table(runs: list[dict[str, Any]]) -> list[str]:
    """Medians."""
    lines = [f"{'live':>4} {'heap':20} {'cpu, s':>7} {'faults':>9} {'peak, MiB':>9}"]
    for live, name in dict.fromkeys((run["live"], run["heap"]) for run in runs):
        of = [run for run in runs if (run["live"], run["heap"]) == (live, name)]
        cpu_s, faults, peak = (median(run[key] for run in of) for key in ("cpu_s", "faults", "peak_bytes"))
        lines.append(f"{live:4} {name:20} {cpu_s:7.2f} {faults:9,.0f} {peak / 2**20:9.0f}")
    return lines


def main() -> int:
    options = options_of(__doc__, 5, "heap-large-blocks.json")
    return written(
        options.output,
        "large_blocks.cpp",
        lambda program: measure(program, options.heaps, options.turns),
        table,
    )


if __name__ == "__main__":
    sys.exit(main())
