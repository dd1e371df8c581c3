#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a replay predicts beside what the program then takes: build/results/replay.json.

Each program is recorded once, replayed on the candidates, and run on each of
them in turns: its private pages that belong to no file are read every 2 ms, its
processor time at the end. --only NAME measures one program again; what the file
has of others stays if it is of the same sources and number of runs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from heapwright.measure import machine
from heapwright.measure.statistics import summarize

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import sources  # noqa: E402
from programs import Program, programs  # noqa: E402

build = project / "build/release"
heapwright = str(project / ".venv/bin/heapwright")
ON = "glibc,jemalloc,tcmalloc,mimalloc"
# The first moves memory where threads share heaps, the second where large blocks come and go.
SETTINGS = ("glibc.arena_max=1", "glibc.mmap_threshold=32k")
READ_EVERY_S = 0.002
LIMIT_S = 300.0


def environment_of(variables: Mapping[str, str], path: str, program: Program) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    preload = {"LD_PRELOAD": path} if path else {}
    return {**own, **dict(program.variables), **variables, **preload}


def anonymous_bytes(process_id: int) -> int:
    try:
        status = Path(f"/proc/{process_id}/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    line = next((line for line in status.splitlines() if line.startswith("RssAnon:")), "")
    return int(line.split()[1]) * 1024 if line else 0


def started(program: Program, command: list[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        command, env=dict(environment), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    if program.meanwhile is not None:
        threading.Thread(target=program.meanwhile, daemon=True).start()
    return process


class Run(NamedTuple):
    """Of the process: the peak and the mean of all readings, and its processor time."""

    peak_bytes: int
    mean_bytes: float
    cpu_ns: float


def real_run(program: Program, environment: Mapping[str, str]) -> Run:
    process = started(program, list(program.command), environment)
    peak, total, readings = 0, 0, 0
    deadline = time.monotonic() + LIMIT_S
    while True:
        done, status, usage = os.wait4(process.pid, os.WNOHANG)
        if done:
            break
        found = anonymous_bytes(process.pid)
        if found:
            peak, total, readings = max(peak, found), total + found, readings + 1
        time.sleep(READ_EVERY_S)
        if time.monotonic() > deadline:
            process.kill()
            raise RuntimeError(f"{program.name} does not end")
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{program.name} failed: {process.returncode}")
    return Run(peak, total / max(readings, 1), 1e9 * (usage.ru_utime + usage.ru_stime))


def record(program: Program, file: Path) -> None:
    command = [heapwright, "record", "--quiet", "--force", "-o", str(file), "--", *program.command]
    process = started(program, command, environment_of({}, "", program))
    if process.wait(LIMIT_S) != 0:
        raise RuntimeError(f"{program.name} could not be recorded")


def replay(file: Path, runs: int) -> dict[str, Any]:
    command = [heapwright, "replay", str(file), "--on", ON]
    command += [word for setting in SETTINGS for word in ("--set", setting)]
    command += ["--idle", "0", "--json"]
    done = subprocess.run([*command, "--runs", str(runs)], capture_output=True, text=True, check=False)
    if not done.stdout:
        raise RuntimeError(done.stderr)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def row_of(candidate: Mapping[str, Any], real: Sequence[Run]) -> dict[str, Any]:
    peaks = [run.peak_bytes for run in real]
    peak, mean, cpu = (candidate["figures"].get(key, {}) for key in ("peak_bytes", "mean_bytes", "time_ns"))
    return {
        "name": candidate["name"],
        "version": candidate["version"],
        "failure": candidate["failure"],
        "predicted_bytes": peak.get("value"),
        "verdict": peak.get("verdict", "unknown"),
        "at_once_bytes": peak.get("at_once"),
        "never_bytes": peak.get("never"),
        "real_bytes": peaks,
        "real_median_bytes": summarize(peaks).median,
        "predicted_mean_bytes": mean.get("value"),
        "mean_verdict": mean.get("verdict", "unknown"),
        "real_mean_bytes": [run.mean_bytes for run in real],
        "predicted_time_ns": cpu.get("value"),
        "predicted_time_difference_ns": cpu.get("difference"),
        "time_verdict": cpu.get("verdict", "unknown"),
        "real_cpu_ns": [run.cpu_ns for run in real],
    }


def kept(path: Path, only: str, results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the file has of the other programs."""
    if not only or not path.is_file():
        return []
    before = json.loads(path.read_text(encoding="utf-8"))
    if any(before[key] != results[key] for key in ("sources", "runs")):
        raise SystemExit(f"{path} is of other sources or runs; measure without --only, or --output elsewhere")
    return [program for program in before["programs"] if program["name"] != only]


def measure(program: Program, folder: Path, runs: int) -> dict[str, Any]:
    file = folder / "program.heapwright"
    record(program, file)
    document = replay(file, 3)
    # A program that is linked with an allocator calls the C library's where that comes first.
    plain = "" if document["recorded_on"].startswith("glibc") else "libc.so.6"
    environments = [
        environment_of(candidate["variables"], candidate["path"] or plain, program)
        for candidate in document["candidates"]
    ]
    turns = [[real_run(program, environment) for environment in environments] for _ in range(runs)]
    rows = [
        row_of(candidate, [turn[number] for turn in turns])
        for number, candidate in enumerate(document["candidates"])
    ]
    for row in rows:
        print(program.name, row, flush=True)
    return {
        "name": program.name,
        "recorded_on": document["recorded_on"],
        "reference": document["reference"],
        "plan": document["plan"],
        "pace": document["pace"],
        "fidelity": document["fidelity"],
        "time_fidelity": document["time_fidelity"],
        "candidates": rows,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--output", type=Path, default=sources.raw_results() / "replay.json")
    parser.add_argument("--runs", type=int, default=5, help="real runs of each candidate")
    parser.add_argument("--only", default="", help="this program alone")
    options = parser.parse_args()
    results: dict[str, Any] = {
        "machine": machine.describe(),
        "sources": sources.stamp("replay"),
        "runs": options.runs,
    }
    results["programs"] = kept(options.output, options.only, results)
    with tempfile.TemporaryDirectory(prefix="heapwright-bench-") as folder:
        found = programs(Path(folder), build)
        places = {program.name: place for place, program in enumerate(found)}
        if options.only and options.only not in places:
            raise SystemExit(f"no program {options.only}; there are: {', '.join(places)}")
        for program in found:
            if options.only in ("", program.name):
                results["programs"].append(measure(program, Path(folder), options.runs))
                results["programs"].sort(key=lambda done: places.get(done["name"], 0))
                options.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
