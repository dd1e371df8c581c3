#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what huge pages give and cost: this heap with and without, other heaps, in turns.

    huge_pages.py [--turns 5] [--output build/results/heap-huge-pages.json] NAME=LIBRARY ...

Runs bench/heap/huge_pages.cpp with each library preloaded; glibc's own runs without one. A virtual machine's
host may take free memory back within seconds, and its first touch costs most then. So each runs twice: cold,
after a pause, and warm, directly after itself.
"""

import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from heapwright.measure.machine import transparent_huge_pages
from heapwright.measure.turns import turns
from preloaded import options_of, printed_by, written

FIGURES = ("fill_s", "read_s", "full_mib", "later_mib", "faults")
# How huge pages are asked for, of which heaps.
VARIABLES = {
    "heapwright": {
        "asks": {"HEAPWRIGHT_HEAP_HUGE_PAGES": "1"},
        "auto": {"HEAPWRIGHT_HEAP_HUGE_PAGES": "auto"},
    },
    "glibc": {"asks": {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}},
    "jemalloc": {"asks": {"MALLOC_CONF": "thp:always"}},
}
PAUSE_S = 8


def variables_of(heap: str) -> dict[str, dict[str, str]]:
    return {"": {}, **next((asked for name, asked in VARIABLES.items() if heap.startswith(name)), {})}


def measure(program: Path, heaps: dict[str, str], rounds: int) -> list[dict[str, Any]]:
    arms = [(name, asked) for name in heaps for asked in variables_of(name)]
    runs = []
    for turn, _, (name, asked) in turns(rounds, [""], arms):
        time.sleep(PAUSE_S)
        for memory in ("cold", "warm"):
            words = printed_by(program, heaps[name], **variables_of(name)[asked]).split()
            figures = dict(zip(FIGURES, map(float, words), strict=False))
            runs.append({"heap": name, "asks": asked, "memory": memory, "turn": turn, **figures})
    return runs


def table(runs: list[dict[str, Any]]) -> list[str]:
    """Medians; of filling the least and the most, of reads the warm ones."""
    lines = [f"{'heap':20} {'cold, s':>14} {'warm, s':>14} {'reads, s':>8} {'full, MiB':>9} {'faults':>9}"]
    for name, asks in dict.fromkeys((run["heap"], run["asks"]) for run in runs):
        of = [run for run in runs if (run["heap"], run["asks"]) == (name, asks)]
        filled = []
        for memory in ("cold", "warm"):
            fill = sorted(run["fill_s"] for run in of if run["memory"] == memory)
            filled.append(f"{fill[0]:5.2f} to {fill[-1]:5.2f}")
        read = median(run["read_s"] for run in of if run["memory"] == "warm")
        full, faults = (median(run[key] for run in of) for key in ("full_mib", "faults"))
        title = f"{name}, {asks}" if asks else name
        lines.append(f"{title:20} {filled[0]} {filled[1]} {read:8.2f} {full:9.0f} {faults:9,.0f}")
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
