#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures builds of the heap in turns: as it is, and without one of its concepts each.

    trials.py --with build/release/lib/libheapwright.so --without coarse=FILE [--without ...]
              [--measure g++=9 pair_2=7 ...] [--add] [--output build/results/heap-trials.json]

Prints, for each program and load, the median of CPU time and peak against the whole heap, turn by
turn, and the noise of these ratios. docs/decisions/0006-heap.md says what followed. Ratios of CPU
time bear a busy machine; latencies, rates and times by the clock do not.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import loads
import measure
import real_programs
from measured_run import Program

project = Path(__file__).resolve().parents[2]
whole = "whole"
# The objects of this repository, compressed anew: blocks of as many sizes as there are files.
packing = ["git", "-C", str(project), "-c", "pack.threads=1", "pack-objects", "--all", "--revs", "--stdout"]
packing += ["--no-reuse-delta", "--window=5", "--quiet"]
figures_shown = ("cpu_s", "peak_bytes", "overhead_bytes", "p9999_ns", "one_call_ns")


def ratios(runs: list[dict[str, Any]], load: str, without: str, figure: str) -> Iterator[float]:
    """To the whole heap in the same turn; nothing where the load has no such figure."""
    found = {(r["allocator"], r["repetition"]): r.get("figures", {}) for r in runs if r["load"] == load}
    for (name, turn), figures in found.items():
        base = found.get((whole, turn), {}).get(figure)
        if name == without and base and figure in figures:
            yield figures[figure] / base


def table(runs: list[dict[str, Any]]) -> Iterator[str]:
    names = [name for name in dict.fromkeys(r["allocator"] for r in runs) if name != whole]
    loads = dict.fromkeys(r["load"] for r in runs)
    for load, figure, name in product(loads, figures_shown, names):
        found = list(ratios(runs, load, name, figure))
        if found:
            middle = median(found)
            spread = median(abs(ratio - middle) for ratio in found)
            yield f"{load:22} {figure:12} no {name:10} {middle:.3f} ± {spread:.3f}  n={len(found)}"


def measure_wanted(bench: measure.Bench, turns: dict[str, int], programs: dict[str, Any]) -> None:
    """Adds so many turns of each to the runs that bench has."""
    known = {load.name: load for load in loads.loads}
    for wanted, count in turns.items():
        print(wanted, file=sys.stderr, flush=True)
        had = [run["repetition"] for run in bench.runs if run["load"] in (wanted, f"program_{wanted}")]
        first = max(had, default=-1) + 1
        for turn in range(first, first + count):
            if wanted in programs:
                bench.run_program(wanted, programs[wanted], turn)
            else:
                bench.run_load(known[wanted], turn)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--with", dest="whole", type=Path, default=project / "build/release/lib/libheapwright.so"
    )
    parser.add_argument("--without", action="append", default=[], metavar="NAME=LIBRARY")
    parser.add_argument("--measure", nargs="+", default=[], metavar="NAME=TURNS", help="programs and loads")
    parser.add_argument(
        "--build", type=Path, default=project / "build/release", help="has bin/heapwright-lab"
    )
    parser.add_argument("--add", action="store_true", help="to the runs of the output file, which exists")
    parser.add_argument("--output", type=Path, default=measure.sources.raw_results() / "heap-trials.json")
    options = parser.parse_args()
    pairs = [text.partition("=")[::2] for text in options.without]
    libraries = {whole: options.whole} | {name: Path(file) for name, file in pairs}
    missing = [str(file) for file in libraries.values() if not file.is_file()]
    turns = {name: int(count) for name, _, count in (text.partition("=") for text in options.measure)}
    described = measure.this_machine()
    with tempfile.TemporaryDirectory() as name:
        files = {key: file.resolve() for key, file in libraries.items()}
        bench = measure.Bench(files, options.build.resolve(), Path(name), is_quick=False, only=[])
        programs = real_programs.programs(bench.folder)
        programs["git"] = Program(packing)
        known = {load.name for load in loads.loads}
        missing += [wanted for wanted in turns if wanted not in programs and wanted not in known]
        if missing:
            print(f"there is no {', '.join(missing)}", file=sys.stderr)
            return 2
        before = json.loads(options.output.read_text(encoding="utf-8")) if options.add else {}
        bench.runs = before.pop("runs", [])
        measure_wanted(bench, turns, programs)
    measure.write(options.output, before or measure.head_of(described), bench.runs)
    print("\n".join(table(bench.runs)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
