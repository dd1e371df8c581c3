#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures the hardened mode beside other hardened heaps, in turns.

    hardened.py [--turns 9] [--output bench/results/heap-hardened.json] NAME=LIBRARY ...

Runs bench/heap/hardened_load.cpp on one and on two threads with each library preloaded; this heap
runs hardened, and without a library the C library's own runs. CPU time bears a busy machine, so
each turn is compared with this heap's in the same turn.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

here = Path(__file__).resolve().parent
project = here.parents[1]
own = project / "build/release/lib/libheapwright.so"


def measure(program: Path, heaps: dict[str, str], turns: int) -> list[dict[str, Any]]:
    runs = []
    for turn in range(turns):
        for threads in (1, 2):
            for name, library in heaps.items():
                environment = {**os.environ, "LD_PRELOAD": library, "HEAPWRIGHT_HEAP_HARDENED": "1"}
                command = [str(program), str(threads), "1000000"]
                done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
                runs.append({"heap": name, "threads": threads, "turn": turn, "cpu_ns": float(done.stdout)})
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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("others", nargs="*", metavar="NAME=LIBRARY")
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--output", type=Path, default=project / "bench/results/heap-hardened.json")
    options = parser.parse_args()
    heaps = {"heapwright": str(own), "glibc": ""}
    heaps |= dict(other.split("=", 1) for other in options.others)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "load"
        source = here / "hardened_load.cpp"
        subprocess.run(
            ["c++", "-O2", "-fno-builtin", "-pthread", "-o", str(program), str(source)], check=True
        )
        runs = measure(program, heaps, options.turns)
    options.output.write_text(json.dumps({"runs": runs}, indent=1) + "\n")
    print("\n".join(table(runs)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
