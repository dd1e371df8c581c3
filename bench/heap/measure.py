#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures the heap beside glibc, jemalloc, tcmalloc, mimalloc and tbb; writes build/results/heap.json.

Each run is a process of its own with the allocator preloaded; the allocators
take turns, so that noise meets all of them alike. Takes about twelve minutes
on a quiet machine; --quick takes one and is good for nothing but a first look.
--servers and --programs measure real ones instead, also beside what `make bench-peers` built.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import loads
import real_programs
import real_servers
from heapwright.measure import machine
from heapwright.measure.allocators import KNOWN, OURS, PEERS, REFERENCE, Shelf, version_of
from heapwright.measure.program import RunFailedError
from measured_run import Program, Runner

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import sources  # noqa: E402

here = Path(__file__).resolve().parent
# Preloaded too: a program may be linked to another allocator, as redis is.
c_library = Path("/lib/x86_64-linux-gnu/libc.so.6")


def allocators(build: Path, kinds: str) -> dict[str, Path]:
    """By the name in the results; kinds: Debian's, "releases" for what `make bench-peers` built, or "all"."""
    shelf = Shelf(build / "bin/heapwright-lab", [build, project / "build"]).files()
    found = {OURS: Path(shelf[OURS])}
    if kinds != "releases":
        found[REFERENCE] = c_library
        found |= {known.name: Path(shelf[known.name]) for known in KNOWN if known.name in shelf}
    if kinds != "debian":
        releases = {peer.removesuffix("-new"): shelf[peer] for peer in PEERS if peer in shelf}
        found |= {f"{name} {version_of(file)}": Path(file) for name, file in releases.items()}
    return found


def build(name: str, folder: Path, *more: str) -> Path:
    program = folder / name
    flags = ["-std=c++20", "-O2", "-fno-builtin", "-fno-allocation-dce", "-pthread", *more]
    subprocess.run(["g++", *flags, str(here / f"{name}.cpp"), "-o", str(program)], check=True)
    return program


class Bench:
    def __init__(
        self, allocators: dict[str, Path], build_folder: Path, folder: Path, is_quick: bool, only: list[str]
    ) -> None:
        self.allocators = allocators
        self.lab = build_folder / "bin/heapwright-lab"
        self.is_quick = is_quick
        self.only = only
        self.folder = folder
        self.pairs = build("pairs", folder)
        self.floor = {loads.floor: build("bump_pointer", folder, "-shared", "-fPIC")}
        self.runner = Runner(build("run_measured", folder), folder)
        self.runs: list[dict[str, Any]] = []

    def command(self, load: loads.Load, allocator: str) -> list[str]:
        if load.command[0] == "pairs":
            return [str(self.pairs), *load.command[1:]]
        command = [str(self.lab), *load.command]
        if load.is_pinned:
            command += ["--pin-cpu", str(max(os.sched_getaffinity(0)))]
        if load.folds:
            command += ["--minima", str(self.folder / f"{load.name}.{allocator}.minima")]
        return command

    def run_load(self, load: loads.Load, repetition: int) -> None:
        measured = self.allocators | (self.floor if load.has_floor else {})
        for name, library in measured.items():
            row: dict[str, Any] = {"load": load.name, "allocator": name, "repetition": repetition}
            try:
                output, used = self.runner.run(library, self.command(load, name))
                row["figures"] = json.loads(output) | {n: used[n] for n in ("peak_bytes", "cpu_s")}
            except RunFailedError as failure:
                row["failure"] = str(failure)
            self.runs.append(row)

    def run_loads(self) -> None:
        for load in loads.loads:
            if self.only and not any(load.name.startswith(word) for word in self.only):
                continue
            print(load.name, end=" ", flush=True)
            for repetition in range(min(load.repetitions, 2) if self.is_quick else load.repetitions):
                self.run_load(load, repetition)
        print()

    def run_programs(self, programs: dict[str, Program], turns: int) -> None:
        for name, program in programs.items():
            if self.only and name not in self.only:
                continue
            print(name, end=" ", flush=True)
            for repetition in range(1 if self.is_quick else turns):
                self.run_program(name, program, repetition)
        print()

    def run_program(self, program: str, command: Program, repetition: int) -> None:
        for name, library in self.allocators.items():
            row: dict[str, Any] = {"load": f"program_{program}", "allocator": name}
            row["repetition"] = repetition
            try:
                row["figures"] = self.runner.measure(library, command)
            except RunFailedError as failure:
                row["failure"] = str(failure)
            self.runs.append(row)


def this_machine() -> dict[str, Any]:
    return {
        "cpu": machine.cpu(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "libc": machine.libc(),
        "load_before": round(os.getloadavg()[0], 2),
    }


def head_of(described: dict[str, Any], measured: str = "heap") -> dict[str, Any]:
    """Of a results file, after the last run; described: the machine before it; measured: in sources."""
    described["load_after"] = round(os.getloadavg()[0], 2)
    return {"machine": described, "sources": sources.stamp(measured)}


def write(output: Path, head: dict[str, Any], runs: list[dict[str, Any]]) -> None:
    # One line for each run, so that a new result is a readable difference.
    rows = ",\n".join(json.dumps(run, separators=(",", ":")) for run in runs)
    whole = head | {
        "allocators": list(dict.fromkeys(run["allocator"] for run in runs if run["allocator"] != loads.floor))
    }
    output.write_text(f'{json.dumps(whole)[:-1]},"runs":[\n{rows}\n]}}\n', encoding="utf-8")


def keep(path: Path, head: dict[str, Any], runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """With the runs of other loads in a results file, in its order; head: gets the sources of these."""
    before = json.loads(path.read_text(encoding="utf-8"))
    head["kept"] = [{"sources": before["sources"]}, *before.get("kept", [])]
    loads_before = list(dict.fromkeys(run["load"] for run in before["runs"]))
    again = {run["load"] for run in runs}
    whole = [run for run in before["runs"] if run["load"] not in again] + runs
    place = {load: number for number, load in enumerate(loads_before)}
    return sorted(whole, key=lambda run: place.get(run["load"], len(place)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=project / "build/release")
    parser.add_argument("--output", type=Path, help="build/results/heap*.json by default")
    parser.add_argument("--releases", action="store_true", help="beside what make bench-peers built")
    parser.add_argument("--servers", action="store_true", help="real servers, beside all that is here")
    parser.add_argument("--programs", action="store_true", help="real programs, beside all that is here")
    parser.add_argument("--turns", type=int, default=7, help="runs of each program on each allocator")
    parser.add_argument("--only", action="append", default=[], help="loads or programs that begin with this")
    parser.add_argument("--keep", action="store_true", help="what the results say of other loads, too")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()  # runs have a folder of their own
    if not (arguments.build / "lib/libheapwright.so").exists():
        print(f"{arguments.build}/lib/libheapwright.so is missing; type: make build", file=sys.stderr)
        return 2
    real = "servers" if arguments.servers else "programs" if arguments.programs else ""
    kinds = "all" if real else "releases" if arguments.releases else "debian"
    measured = allocators(arguments.build, kinds)
    if len(measured) == 1:
        print("build/peers holds no allocator; type: make bench-peers", file=sys.stderr)
        return 2
    names = {"all": f"heap-{real}", "releases": "heap-releases", "debian": "heap"}
    output = arguments.output or sources.raw_results() / f"{names[kinds]}.json"
    described = this_machine()
    # Servers write in memory, so that no disk decides when they do.
    with tempfile.TemporaryDirectory(dir="/dev/shm" if arguments.servers else None) as folder:
        bench = Bench(measured, arguments.build, Path(folder), arguments.quick, arguments.only)
        if real:
            found = real_servers.servers if arguments.servers else real_programs.programs
            bench.run_programs(found(Path(folder)), arguments.turns)
        else:
            bench.run_loads()
    head = head_of(described, f"heap_{real}" if real else "heap")
    write(output, head, keep(output, head, bench.runs) if arguments.keep else bench.runs)
    failures = [run for run in bench.runs if "failure" in run]
    for run in failures:
        print(f"{run['allocator']} failed in {run['load']}: {run['failure']}", file=sys.stderr)
    return 1 if any(run["allocator"] == OURS for run in failures) else 0


if __name__ == "__main__":
    sys.exit(main())
