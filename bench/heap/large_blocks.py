#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures blocks of 1 to 32 MiB that come and go, beside other heaps, in turns.

    large_blocks.py [--turns 5] [--output bench/results/heap-large-blocks.json] NAME=LIBRARY ...

Runs bench/heap/large_blocks.cpp with each library preloaded; glibc's own runs without one. CPU time bears a
busy machine; page faults and peaks do not depend on it, but on how often memory was given back meanwhile.
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

from heapwright.measure.turns import turns

here = Path(__file__).resolve().parent
project = here.parents[1]
sys.path.append(str(project / "bench"))
import sources  # noqa: E402

LIVE = (1, 2, 8, 24)


def measure(program: Path, heaps: dict[str, str], rounds: int) -> list[dict[str, Any]]:
    runs = []
    for turn, live, name in turns(rounds, LIVE, list(heaps)):
        environment = {**os.environ, "LD_PRELOAD": heaps[name]}
        command = [str(program), str(live), "1000"]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        cpu_s, faults, peak_bytes = done.stdout.split()
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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("others", nargs="*", metavar="NAME=LIBRARY")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--output", type=Path, default=project / "bench/results/heap-large-blocks.json")
    options = parser.parse_args()
    heaps = {"heapwright": str(project / "build/release/lib/libheapwright.so"), "glibc": ""}
    heaps |= dict(text.split("=", 1) for text in options.others)
    load = os.getloadavg()[0]
    stamp = sources.stamp("heap")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "large_blocks"
        subprocess.run(
            ["g++", "-std=c++20", "-O2", str(here / "large_blocks.cpp"), "-o", str(program)], check=True
        )
        runs = measure(program, heaps, options.turns)
    options.output.write_text(
        json.dumps({"load_before": load, "sources": stamp, "runs": runs}, indent=1) + "\n"
    )
    print("\n".join(table(runs)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
