#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs every program of a folder alone, under the heap and under the recorder.

Each is started with one harmless argument, --version, in an empty folder and
without input. Whoever ends otherwise than alone, whose recording is not
whole, or of whose call stacks some are cut, is named. Not a part of
`make test`: what is installed differs from machine to machine, and so does
what a program does with the argument.
"""

import argparse
import json
import os
import stat
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import heapwright
from heapwright.measure.program import RunFailedError, run_program

project = Path(__file__).resolve().parent.parent
build = Path(os.environ.get("HEAPWRIGHT_BUILD", project / "build/release"))
collector = build / "bin/heapwright-collect"
heap = build / "lib/libheapwright.so"
timeout_s = 60
refused = 2  # the collector's exit code, with a line that says why


@dataclass(frozen=True)
class End:
    status: int | None  # None: had to be stopped
    line: str = ""  # the last that it said


@dataclass(frozen=True)
class Outcome:
    program: Path
    refusal: str = ""
    differences: tuple[str, ...] = ()
    stacks: int = 0
    cut_stacks: tuple[tuple[str, int], ...] = ()  # why, and how many


def run(line: list[str], folder: Path, **variables: str) -> End:
    environment = os.environ | {"HOME": str(folder), "TERM": "dumb"} | variables
    try:
        run_program(line, environment, timeout_s, folder)
    except RunFailedError as failure:
        return End(failure.code, failure.line)
    return End(0)


def problems_of_recording(summary: Path) -> list[str]:
    """What a collector's summary says against it."""
    if not summary.exists():
        return ["no summary"]
    found = []
    for file in json.loads(summary.read_text())["files"]:
        if file["dropped"]:
            found.append(f"recording: {file['dropped']} calls dropped")
        if file["error"] or file["end"] is None:
            found.append(f"recording: {file['error'] or 'no end mark'}")
    return found


def sweep(program: Path, argument: str) -> Outcome:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        line = [str(program), argument]
        alone = run(line, folder)
        if alone.status is None:
            return Outcome(program, refusal="does not end by itself")
        differences = []
        preloaded = run(line, folder, LD_PRELOAD=str(heap))
        if preloaded.status != alone.status:
            differences.append(f"heap: ends with {preloaded.status}, alone with {alone.status}")
        summary = folder / "summary.json"
        options = ["--quiet", "--summary", str(summary), "--output", str(folder / "%p.heapwright")]
        recorded = run([str(collector), *options, "--", *line], folder)
        said = recorded.line
        if recorded.status == refused and not summary.exists() and said.startswith("heapwright"):
            return Outcome(program, said, tuple(differences))
        expected = alone.status if alone.status >= 0 else 128 - alone.status
        if recorded.status != expected:
            differences.append(f"recorder: ends with {recorded.status}, alone with {alone.status}: {said}")
        else:
            differences += problems_of_recording(summary)
        traces = [heapwright.open(path).cut_stacks() for path in sorted(folder.glob("*.heapwright"))]
        cut = tuple(reason for trace in traces for reason in trace.reasons)
        return Outcome(program, "", tuple(differences), sum(trace.total for trace in traces), cut)


def is_program(path: Path) -> bool:
    """An ELF file that may be executed."""
    if not path.is_file() or not os.access(path, os.X_OK | os.R_OK):
        return False
    if path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID):
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def programs_in(folder: Path) -> list[Path]:
    """One name of each; a program may behave by the name it is called by, so links are not resolved."""
    names: dict[Path, Path] = {}
    for path in sorted(folder.iterdir()):
        if is_program(path):
            names.setdefault(path.resolve(), path)
    return list(names.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=Path("/usr/bin"))
    parser.add_argument(
        "--argument", default="--version", help="what each is started with (default --version)"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    if not options.folder.is_dir() or not collector.exists():
        print("sweep: no such folder" if collector.exists() else "sweep: nothing built; type: make build")
        return 2
    programs = programs_in(options.folder)
    refusals, different, stacks = 0, 0, 0
    cut: Counter[str] = Counter()
    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes = pool.map(lambda program: sweep(program, options.argument), programs)
        for number, outcome in enumerate(outcomes, start=1):
            if sys.stdout.isatty():
                print(f"\r{number} of {len(programs)}", end="\r", flush=True)
            if outcome.refusal:
                refusals += 1
                print(f"{outcome.program.name}: not recorded: {outcome.refusal}", flush=True)
            for difference in outcome.differences:
                different += 1
                print(f"{outcome.program.name}: {difference}", flush=True)
            for why, count in outcome.cut_stacks:
                cut[why] += count
                print(f"{outcome.program.name}: {count} of {outcome.stacks} stacks cut: {why}", flush=True)
            stacks += outcome.stacks
    print(f"{stacks} different stacks, {stacks - cut.total()} of them whole")
    for why, count in cut.most_common():
        print(f"{count} cut: {why}")
    print(f"{len(programs)} programs, {refusals} not recorded, {different} differences")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
