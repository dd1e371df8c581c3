#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts what guards around some large blocks cost: instructions, system calls, page faults, memory.

    guard_cost.py [--turns 5] [--output build/results/heap-guard-cost.json] NAME=LIBRARY ...

Runs bench/heap/guard_cost.cpp with each library preloaded, for example one of the revision before, by
callgrind, by strace and bare. What a block costs is the difference of two runs of different length; what the
first ones cost, a run of eight. Counts do not depend on what else runs; CPU time bears a busy machine.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

from heapwright.measure.turns import turns
from preloaded import built, options_of, printed_by, project

sys.path.append(str(project / "bench"))
import sources

SHORT, LONG, FIRST = 2_000, 52_000, 8
SIZES = (100_000, 1_000_000)
KEPT = {"HEAPWRIGHT_HEAP_MAINTENANCE": "manual"}  # giving back, which the clock decides, is not measured here


def ran(line: list[str], library: str, tool: list[str]) -> str:
    """What a tool says of a run with the library preloaded into the program only."""
    command = [
        *tool,
        "env",
        f"LD_PRELOAD={library}",
        *(f"{name}={value}" for name, value in KEPT.items()),
        *line,
    ]
    return subprocess.run(command, check=True, capture_output=True, text=True).stderr


def instructions(line: list[str], library: str) -> int:
    """User code's."""
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--trace-children=yes"]
    return int(re.findall(r"Collected : (\d+)", ran(line, library, tool))[-1])


def system_calls(line: list[str], library: str) -> int:
    said = ran(line, library, ["strace", "-f", "-c", "-U", "calls,name"])
    return int(re.findall(r"^ *(\d+) total$", said, re.MULTILINE)[-1])


def counted(program: Path, library: str) -> list[dict[str, Any]]:
    found = []
    for size in SIZES:
        row: dict[str, Any] = {"bytes": size}

        def line(blocks: int, size: int = size) -> list[str]:
            return [str(program), str(size), str(blocks), "1"]

        for kind, count in (("instructions", instructions), ("system_calls", system_calls)):
            many = count(line(LONG), library) - count(line(SHORT), library)
            row[f"{kind}_per_block"] = many / (LONG - SHORT)
        row["system_calls_of_first"] = system_calls(line(FIRST), library) - system_calls(line(0), library)
        found.append(row)
    return found


def timed(program: Path, heaps: dict[str, str], rounds: int) -> list[dict[str, Any]]:
    runs = []
    loads = [(size, written) for size in SIZES for written in (1, size)]
    for turn, (size, written), name in turns(rounds, loads, list(heaps)):
        cpu_s, faults, peak_bytes = printed_by(program, heaps[name], size, LONG, written, **KEPT).split()
        figures = {"cpu_ns_per_block": float(cpu_s) / LONG * 1e9, "faults": int(faults)}
        row = {"bytes": size, "written": written, "peak_bytes": int(peak_bytes)}
        runs.append({"heap": name, "turn": turn, **row, **figures})
    return runs


def table(found: dict[str, Any]) -> list[str]:
    lines = []
    for name, rows in found["counted"].items():
        for row in rows:
            lines.append(
                f"{name:12} {row['bytes']:9,} bytes: {row['instructions_per_block']:7.1f} instructions, "
                f"{1000 * row['system_calls_per_block']:7.2f} system calls of 1000 blocks, "
                f"{row['system_calls_of_first']} of the first {FIRST}"
            )
    for key in dict.fromkeys((run["heap"], run["bytes"], run["written"]) for run in found["runs"]):
        of = [run for run in found["runs"] if (run["heap"], run["bytes"], run["written"]) == key]
        columns = ("cpu_ns_per_block", "faults", "peak_bytes")
        cpu_ns, faults, peak = (median(run[column] for run in of) for column in columns)
        lines.append(
            f"{key[0]:12} {key[1]:9,} bytes, {key[2]:9,} written: {cpu_ns:9,.0f} ns of CPU a block, "
            f"{faults:9,.0f} faults, peak {peak / 2**20:.1f} MiB"
        )
    return lines


def main() -> int:
    options = options_of(__doc__, 5, "heap-guard-cost.json")
    stamp = sources.stamp("heap")
    load = os.getloadavg()[0]
    with built("guard_cost.cpp") as program:
        counts = {name: counted(program, library) for name, library in options.heaps.items()}
        runs = timed(program, options.heaps, options.turns)
    found = {"load_before": load, "sources": stamp, "counted": counts, "runs": runs}
    options.output.write_text(json.dumps(found, indent=1) + "\n")
    print("\n".join(table(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
