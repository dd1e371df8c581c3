#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures the analysis beside heaptrack_print on recordings of one program.

Records `pairs` with both tools, then reads both recordings in turn, so that a
slow minute of the machine falls on both. Prints JSON: events per second by
wall clock and by processor time, the median of the rounds, and their ratio.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any


def record(build: Path, folder: Path, rounds: int) -> tuple[Path, Path]:
    program = [str(build / "bin/pairs"), str(rounds)]
    trace = folder / "pairs.heapwright"
    library = build / "lib/libheapwright-record.so"
    collect = [str(build / "bin/heapwright-collect"), "--quiet", "--output", str(trace)]
    subprocess.run([*collect, "--library", str(library), "--", *program], check=True)
    subprocess.run(
        ["heaptrack", "-o", str(folder / "pairs"), *program], check=True, stdout=subprocess.DEVNULL
    )
    return trace, next(folder.glob("pairs.*zst"))


def run(line: list[str]) -> dict[str, float]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall_s": wall, "cpu_s": used}


def summary(events: int, rounds: list[dict[str, float]]) -> dict[str, Any]:
    wall = statistics.median(figures["wall_s"] for figures in rounds)
    used = statistics.median(figures["cpu_s"] for figures in rounds)
    return {
        "million_events_per_s": round(events / wall * 1e-6, 2),
        "cpu_ns_per_event": round(used / events * 1e9, 1),
        "rounds": rounds,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path, help="build folder with HEAPWRIGHT_BENCH=ON")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pairs", type=int, default=12_000_000, help="malloc/free pairs to record")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        trace, heaptrack = record(options.build, Path(name), options.pairs // 2)
        lines = {
            "heapwright": [str(options.build / "bin/measure_analysis"), str(trace), "1", "analyze"],
            "heaptrack_print": ["heaptrack_print", "-f", str(heaptrack)],
        }
        rounds: dict[str, list[dict[str, float]]] = {tool: [] for tool in lines}
        for _ in range(options.rounds):
            for tool, line in lines.items():
                rounds[tool].append(run(line))
    events = options.pairs * 2
    results = {tool: summary(events, figures) for tool, figures in rounds.items()}
    rates = {tool: result["million_events_per_s"] for tool, result in results.items()}
    json.dump(
        {
            "events": events,
            "processor": platform.processor() or platform.machine(),
            "cores": os.cpu_count(),
            "load": os.getloadavg()[0],
            "ratio": round(rates["heapwright"] / rates["heaptrack_print"], 2),
            **results,
        },
        sys.stdout,
        indent=2,
    )
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
