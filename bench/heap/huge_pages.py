#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what huge pages give and cost: this heap with and without, other heaps, in turns.

    huge_pages.py [--turns 5] [--output bench/results/heap-huge-pages.json] NAME=LIBRARY ...

Runs bench/heap/huge_pages.cpp with each library preloaded; glibc's own runs without one. On a virtual machine
the first touch of memory that the host has taken back costs most, so the runs of filling lie far apart.
"""

import sys
from pathlib import Path
from statistics import median
from typing import Any

from heapwright.measure.machine import transparent_huge_pages
from heapwright.measure.turns import turns
from preloaded import options_of, printed_by, written

FIGURES = ("fill_s", "read_s", "full_mib", "later_mib", "faults")
# What asks for huge pages, of which heaps.
VARIABLES = {
    "heapwright": {"HEAPWRIGHT_HEAP_HUGE_PAGES": "1"},
    "glibc": {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"},
    "jemalloc": {"MALLOC_CONF": "thp:always"},
}


def measure(program: Path, heaps: dict[str, str], rounds: int) -> list[dict[str, Any]]:
    arms = [(name, asked) for name in heaps for asked in (False, True) if not asked or name in VARIABLES]
    runs = []
    for turn, _, (name, asked) in turns(rounds, [""], arms):
        words = printed_by(program, heaps[name], **(VARIABLES[name] if asked else {})).split()
        figures = dict(zip(FIGURES, map(float, words), strict=False))
        runs.append({"heap": name, "asks": asked, "turn": turn, **figures})
    return runs


def table(runs: list[dict[str, Any]]) -> list[str]:
    """Medians; of filling the least and the most."""
    lines = [f"{'heap':20} {'fill, s':>14} {'reads, s':>8} {'full, MiB':>9} {'later, MiB':>10} {'faults':>9}"]
    for name, asks in dict.fromkeys((run["heap"], run["asks"]) for run in runs):
        of = [run for run in runs if (run["heap"], run["asks"]) == (name, asks)]
        fill = sorted(run["fill_s"] for run in of)
        read, full, later, faults = (median(run[key] for run in of) for key in FIGURES[1:])
        title = f"{name}, asks" if asks else name
        filled = f"{fill[0]:5.2f} to {fill[-1]:5.2f}"
        lines.append(f"{title:20} {filled} {read:8.2f} {full:9.0f} {later:10.0f} {faults:9,.0f}")
    return lines


def main() -> int:
    options = options_of(__doc__, 5, "heap-huge-pages.json")
    return written(
        options.output,
        "huge_pages.cpp",
        lambda program: measure(program, options.heaps, options.turns),
        table,
        transparent_huge_pages=transparent_huge_pages(),
    )


if __name__ == "__main__":
    sys.exit(main())
