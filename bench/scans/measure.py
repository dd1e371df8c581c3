#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long a program's mmap and munmap wait while the collector scans its pages.

bench/scans/waits.cpp maps and unmaps in 1, 2 and 8 threads beside memory that stays, recorded with scans,
without scans (--no-residency), and alone, in turns. The raw figures go to OUTPUT/scans.json; a line for each
is printed: the medians of the rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from heapwright.measure import machine
from heapwright.measure.turns import turns

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import sources  # noqa: E402

THREADS = (1, 2, 8)
VARIANTS: dict[str, list[str] | None] = {"scans": [], "no scans": ["--no-residency"], "alone": None}
FIGURES = ("calls", "p50_ns", "p99_ns", "p999_ns", "longest_ns")
LIMIT_NS = 1_000_000


def run(line: list[str]) -> dict[str, dict[str, int]]:
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    rows = (row.split() for row in done.stdout.splitlines())
    return {row[0]: dict(zip(FIGURES, map(int, row[1:]), strict=True)) for row in rows}


def printed(runs: list[dict[str, Any]]) -> list[str]:
    lines = [f"{'threads':>7} {'variant':9} {'call':7} {'p50':>9} {'p99':>9} {'p99.9':>9} {'longest':>9}, us"]
    for threads in THREADS:
        for variant in VARIANTS:
            of = [one for one in runs if (one["threads"], one["variant"]) == (threads, variant)]
            for call in ("mmap", "munmap"):
                medians = [statistics.median(one[call][name] for one in of) for name in FIGURES[1:]]
                shown = " ".join(f"{median / 1000:9.1f}" for median in medians)
                late = "  more than 1 ms at p99.9" if medians[2] > LIMIT_NS else ""
                lines.append(f"{threads:7} {variant:9} {call:7} {shown}{late}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=sources.raw_results())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5, help="of each run")
    parser.add_argument("--mebibytes", type=int, default=500, help="that stay")
    options = parser.parse_args()
    runs: list[dict[str, Any]] = []
    described = machine.describe()
    with tempfile.TemporaryDirectory() as place:
        program, trace = Path(place) / "waits", Path(place) / "t.heapwright"
        compiling = ["g++", "-std=c++20", "-O2", "-pthread", Path(__file__).parent / "waits.cpp"]
        subprocess.run([*compiling, "-o", program], check=True)
        recording = [str(project / "build/release/bin/heapwright-collect"), "--output", str(trace), "--force"]
        for round_number, threads, variant in turns(options.rounds, THREADS, list(VARIANTS)):
            line = [str(program), *map(str, (threads, options.seconds, options.mebibytes))]
            given = VARIANTS[variant]
            recorded = line if given is None else [*recording, "--quiet", *given, "--", *line]
            runs.append({"threads": threads, "variant": variant, "round": round_number, **run(recorded)})
    print("\n".join(printed(runs)))
    document = {"machine": described, "sources": sources.stamp("scans"), "runs": runs}
    (options.output / "scans.json").write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
