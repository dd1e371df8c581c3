#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the wrong uses that each heap stops in a process that has lived, and how soon.

    lived_misuse.py [--turns N] [--output build/results/heap-lived-misuse.json] [NAME=LIBRARY ...]

lived_misuse.cpp has the kinds. Places are random, so each runs in several turns; the least favourable counts:
missed before later before at once.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from preloaded import Runs, options_of, written

SIZES = (24, 200, 2000, 100_000)
SECONDS = 60
AT_ONCE, LATER, MISSED = "at once", "later", "missed"
ORDER = (AT_ONCE, LATER, MISSED)
SHOWN = {AT_ONCE: "yes", LATER: "later", MISSED: "-"}


def outcome(program: Path, heap: str, library: str, kind: str, size: int) -> str:
    """Whether the process was ended before it said that it had passed the misuse, or later."""
    hardened = "1" if heap.endswith("hardened") else "0"
    environment = {**os.environ, "LD_PRELOAD": library, "HEAPWRIGHT_HEAP_HARDENED": hardened}
    line = [program, kind, str(size)]
    ended = subprocess.run(line, env=environment, capture_output=True, timeout=SECONDS, check=False)
    if b"ENDED" in ended.stdout:
        return MISSED
    return LATER if b"PASSED" in ended.stdout else AT_ONCE


def measure(program: Path, heaps: dict[str, str], turns: int) -> Runs:
    listed = subprocess.run([program, "list"], check=True, capture_output=True, text=True).stdout
    runs = []
    for kind in listed.splitlines():
        for size in SIZES:
            found = {
                heap: max(
                    (outcome(program, heap, library, kind, size) for _ in range(turns)), key=ORDER.index
                )
                for heap, library in heaps.items()
            }
            runs.append({"kind": kind, "bytes": size, **found})
    return runs


def table(heaps: list[str], runs: Runs) -> list[str]:
    def cells(kind: str, heap: str) -> str:
        return " ".join(SHOWN[run[heap]] for run in runs if run["kind"] == kind)

    def count(heap: str, *of: str) -> int:
        return sum(run[heap] in of for run in runs)

    rows: list[list[Any]] = [["", *heaps]]
    rows += [
        [kind, *(cells(kind, heap) for heap in heaps)] for kind in dict.fromkeys(r["kind"] for r in runs)
    ]
    rows.append([f"of {len(runs)}, at once", *(count(heap, AT_ONCE) for heap in heaps)])
    rows.append(["at all", *(count(heap, AT_ONCE, LATER) for heap in heaps)])
    return ["| " + " | ".join(map(str, row)) + " |" for row in rows]


def main() -> int:
    options = options_of(__doc__, 3, "heap-lived-misuse.json")
    ours = options.heaps["heapwright"]
    heaps = {"heapwright": ours, "heapwright, hardened": ours, **options.heaps}
    return written(
        options.output,
        "lived_misuse.cpp",
        lambda program: measure(program, heaps, options.turns),
        lambda runs: table(list(heaps), runs),
        sizes=SIZES,
    )


if __name__ == "__main__":
    sys.exit(main())
