#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How near count's time in calls is to the truth: a free and a malloc of a program of ours stand
between two readings of its thread's processor time, and count estimates the same run.

OUTPUT/times.json keeps all runs, in ns.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from heapwright.measure import machine

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import sources  # noqa: E402

THREADS = (1, 2, 32)


def run(build: Path, command: Path, threads: int, milliseconds: int) -> dict[str, int]:
    """What the program knows of itself, and what count says."""
    done = subprocess.run(
        [command, "count", "--json", "--", build / "programs/timed_calls", str(threads), str(milliseconds)],
        env={**os.environ, "HEAPWRIGHT_BIN": str(build / "bin")},
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    notes = [line.split() for line in done.stderr.splitlines() if line.startswith("note ")]
    found = {name: int(value) for _, name, value in notes}
    (process,) = json.loads(done.stdout)["processes"]
    for name in ("time_ns", "time_error_ns", "timed_calls", "waited_ns"):
        found[name] = sum(process[part][name] or 0 for part in ("making", "releasing"))
    is_known = all(process[part]["time_ns"] is not None for part in ("making", "releasing"))
    return found | {"is_known": int(is_known)}


def main() -> None:
    """Runs in turns, and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--milliseconds", type=int, default=1000)
    parser.add_argument("--build", type=Path, default=project / "build/release")
    parser.add_argument("--command", type=Path, default=project / ".venv/bin/heapwright")
    parser.add_argument("--output", type=Path, default=sources.raw_results())
    options = parser.parse_args()
    runs: dict[str, list[dict[str, int]]] = {str(threads): [] for threads in THREADS}
    for _ in range(options.runs):
        for threads in THREADS:
            found = run(options.build, options.command, threads, options.milliseconds)
            runs[str(threads)].append(found)
            print(threads, found, flush=True)
    document = {
        "schema": "heapwright.bench.times/1",
        "machine": machine.describe(),
        "sources": sources.stamp("times"),
        "milliseconds": options.milliseconds,
        "runs": runs,
    }
    path = options.output / "times.json"
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
