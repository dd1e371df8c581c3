#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How much of real programs' heaps lies in huge pages that are only partly used.

    huge_areas.py [--output build/results/heap-huge-areas.json]

Runs the programs of bench/heap/real_programs.py with HEAPWRIGHT_HEAP_HUGE_PAGES=1 and reads the records of
the heap's units from outside, 25 times a second: which 2 MiB hold something, and how much of them is free.
Memory, no time: on any machine. As root, or where processes of the same user may be read.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import real_programs
from measured_run import Program
from preloaded import project, sources

LIBRARY = project / "build/release/lib/libheapwright.so"
# UnitLine and Region, src/heap/pages/region.hpp.
LINE_BYTES, UNITS_AT, KIND_AT, FLAGS_AT = 64, 36, 54, 55
SLAB, LARGE, FREE_RUN = 1, 3, 4
IS_DIRTY = 1
UNITS_PER_AREA = 32
MIB_UNITS = 16


def address_of_region() -> int:
    """In the library."""
    listed = subprocess.run(["nm", "-C", str(LIBRARY)], check=True, capture_output=True, text=True).stdout
    return next(int(line.split()[0], 16) for line in listed.splitlines() if line.endswith("::heap::region"))


def load_address(process: int) -> int:
    """Where the library lies; OSError, ValueError: not there (any more)."""
    for line in Path(f"/proc/{process}/maps").read_text().splitlines():
        words = line.split()
        if words[-1].endswith("/libheapwright.so") and words[2] == "00000000":
            return int(words[0].split("-")[0], 16)
    raise ValueError("the library is not loaded")


def areas_of(process: int, region: int) -> dict[int, list[int]]:
    """Of each 2 MiB: units in use, units that are free and dirty."""
    with Path(f"/proc/{process}/mem").open("rb", buffering=0) as memory:
        memory.seek(load_address(process) + region)
        words = memory.read(16)
        base, used = int.from_bytes(words[:8], "little"), int.from_bytes(words[8:], "little")
        memory.seek(base)
        lines = memory.read((used >> 16) * LINE_BYTES)
    areas: dict[int, list[int]] = {}
    unit = 0
    while unit * LINE_BYTES < len(lines):
        line = lines[unit * LINE_BYTES : (unit + 1) * LINE_BYTES]
        kind = line[KIND_AT]
        units = max(1, int.from_bytes(line[UNITS_AT : UNITS_AT + 4], "little")) if kind else 1
        for each in range(unit, unit + units):
            area = areas.setdefault(((base >> 16) + each) // UNITS_PER_AREA, [0, 0])
            area[0] += kind in (SLAB, LARGE)
            area[1] += kind == FREE_RUN and line[FLAGS_AT] & IS_DIRTY
        unit += units
    return areas


def figures_of(areas: dict[int, list[int]]) -> dict[str, float]:
    used = sum(area[0] for area in areas.values())
    partly = [area[1] for area in areas.values() if area[0]]
    return {
        "used_mib": used / MIB_UNITS,
        "free_in_used_areas_mib": sum(partly) / MIB_UNITS,
        "used_areas": len(partly),
        "least_areas": -(-used // UNITS_PER_AREA),
    }


def sample(program: Program, region: int) -> list[dict[str, float]]:
    environment = {**os.environ, **program.variables, "LD_PRELOAD": str(LIBRARY)}
    environment["HEAPWRIGHT_HEAP_HUGE_PAGES"] = "1"
    samples = []
    with subprocess.Popen(
        program.command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        while process.poll() is None:
            with suppress(OSError, ValueError):
                samples.append(figures_of(areas_of(process.pid, region)))
            time.sleep(0.04)
    return samples


def summary(name: str, samples: list[dict[str, float]]) -> dict[str, Any]:
    """At the peak of what is in use, and where most is free beside it."""
    return {
        "program": name,
        "peak": max(samples, key=lambda found: found["used_mib"]),
        "most_free": max(samples, key=lambda found: found["free_in_used_areas_mib"]),
    }


def measure() -> list[dict[str, Any]]:
    """Programs of one process that end by themselves."""
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for name, program in real_programs.programs(Path(folder)).items():
            if program.meanwhile is None and (samples := sample(program, address_of_region())):
                runs.append(summary(name, samples))
                print_run(runs[-1])
    return runs


def print_run(run: dict[str, Any]) -> None:
    words = [
        f"{found['used_mib']:5.0f} MiB in {found['used_areas']:3} areas, {found['least_areas']:3} at least, "
        f"{found['free_in_used_areas_mib']:4.0f} free there"
        for found in (run["peak"], run["most_free"])
    ]
    print(f"{run['program']:16} peak {words[0]}; most free {words[1]}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=sources.raw_results() / "heap-huge-areas.json")
    options = parser.parse_args()
    stamp = sources.stamp("heap")
    document = {"sources": stamp, "runs": measure()}
    options.output.write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
