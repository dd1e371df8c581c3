#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what the kernel's records and the scans of resident pages add to a recording.

Each round runs every workload with all of it, without each and without both, in an order that turns, so
that a slow minute of the machine falls on all. The raw figures go to OUTPUT/kernel-events.json; a summary
of medians and spread is printed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from heapwright.measure.turns import turns
from measure import head_of_results, measure_heapwright, sources, write_results
from workloads import prepare, project

BASE = "without both"
VARIANTS = {
    "all": [],
    "no scans": ["--no-residency"],
    "no kernel": ["--no-kernel-events"],
    BASE: ["--no-residency", "--no-kernel-events"],
}


def summary(runs: list[dict[str, Any]]) -> list[str]:
    """A line for each workload and variant: medians, and what they are above those without both."""
    lines = [f"{'workload':10} {'variant':14} {'wall, s':>16} {'wall':>7} {'cpu':>7} {'file':>7}"]
    for name in dict.fromkeys(run["workload"] for run in runs):
        of = {
            variant: [run for run in runs if (run["workload"], run["variant"]) == (name, variant)]
            for variant in VARIANTS
        }

        def median(variant: str, figure: str, of: dict[str, list[dict[str, Any]]] = of) -> float:
            return statistics.median(run[figure] for run in of[variant])

        for variant in VARIANTS:
            walls = f"{median(variant, 'wall_s'):7.2f} {min(run['wall_s'] for run in of[variant]):7.2f}"
            added = [
                f"{100 * (median(variant, figure) / median(BASE, figure) - 1):+6.1f}%"
                for figure in ("wall_s", "cpu_s", "file_bytes")
            ]
            lines.append(f"{name:10} {variant:14} {walls:>16} {' '.join(added)}")
    return [*lines, "seconds: median and least of the rounds; then medians, over those without both"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=sources.raw_results())
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--scale", type=float, default=1.0, help="below 1 only for a look")
    parser.add_argument("--only", nargs="*", default=["pairs", "sqlite3", "python3", "cc1plus"])
    options = parser.parse_args()
    head = head_of_results("recorder")
    runs: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build = Path(os.environ.get("HEAPWRIGHT_BUILD", project / "build/release"))
        workloads = [w for w in prepare(folder, build, options.scale) if w.name in options.only]
        for round_number, workload, variant in turns(options.rounds, workloads, list(VARIANTS)):
            figures = measure_heapwright(workload, folder, VARIANTS[variant], False)
            runs.append({"workload": workload.name, "variant": variant, "round": round_number, **figures})
    print("\n".join(summary(runs)))
    write_results(options.output / "kernel-events.json", {**head, "scale": options.scale, "runs": runs})
    return 0


if __name__ == "__main__":
    sys.exit(main())
