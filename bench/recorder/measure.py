#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what recording costs, beside heaptrack in the same run.

Every round runs every variant of every workload once, in an order that
rotates, so that a slow minute of the machine falls on all of them. The raw
figures go to OUTPUT/recorder.json; render.py makes the tables.
"""

import argparse
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from heapwright.measure import machine
from heapwright.measure.turns import turns
from workloads import Workload, prepare, project

sys.path.append(str(project / "bench"))
import sources

environment = {**os.environ, "PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}
heapwright_options = {
    "heapwright": [],
    "heapwright --no-durations": ["--no-durations"],
    "heapwright --free-stacks": ["--free-stacks"],
}
variants = ["alone", "heaptrack", *heapwright_options]


def run(line: list[str]) -> dict[str, Any]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    result = subprocess.run(
        line, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    wall_s = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if result.returncode != 0:
        raise SystemExit(f"{line[0]} ended with {result.returncode}: {result.stderr[-500:]}")
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    figures: dict[str, Any] = {"wall_s": wall_s, "cpu_s": cpu_s}
    for row in result.stdout.splitlines():
        if row.startswith("note ns_per_pair "):
            figures["ns_per_pair"] = float(row.split()[2])
    return figures


def count_heaptrack_events(path: Path) -> int:
    """Rows `+` and `-` of its file: allocations and releases."""
    with subprocess.Popen(["zstdcat", str(path)], stdout=subprocess.PIPE) as reader:
        assert reader.stdout is not None
        return sum(row[:2] in (b"+ ", b"- ") for row in reader.stdout)


def measure_heaptrack(workload: Workload, folder: Path, is_first: bool) -> dict[str, Any]:
    raw = [] if workload.can_heaptrack_interpret else ["--raw"]
    figures = run(["heaptrack", *raw, "-o", str(folder / "x"), *workload.line])
    path = folder / ("x.raw.zst" if raw else "x.zst")
    figures["file_bytes"] = path.stat().st_size
    if is_first:
        figures["events"] = count_heaptrack_events(path)
    path.unlink()
    return figures


def measure_heapwright(
    workload: Workload, folder: Path, options: list[str], is_first: bool
) -> dict[str, Any]:
    path = folder / "x.heapwright"
    build = Path(os.environ.get("HEAPWRIGHT_BUILD", project / "build/release"))
    line = [str(build / "bin/heapwright-collect"), "--output", str(path), "--quiet", *options, "--"]
    figures = run([*line, *workload.line])
    figures["file_bytes"] = path.stat().st_size
    if is_first:
        dump = subprocess.run(
            [build / "programs/dump_trace", path], check=True, capture_output=True, text=True
        )
        facts = json.loads(dump.stdout)
        figures |= {name: facts[name] for name in ("events", "dropped", "gaps")}
    path.unlink()
    return figures


def measure(workload: Workload, variant: str, folder: Path, is_first: bool) -> dict[str, Any]:
    if variant == "alone":
        return run(workload.line)
    if variant == "heaptrack":
        return measure_heaptrack(workload, folder, is_first)
    return measure_heapwright(workload, folder, heapwright_options[variant], is_first)


def describe_machine() -> dict[str, Any]:
    return {
        "processor": machine.cpu(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "libc": machine.libc(),
        "compiler": machine.first_line(["g++", "--version"]),
        "heaptrack": machine.first_line(["heaptrack", "--version"]),
        "revision": machine.first_line(["git", "-C", str(project), "rev-parse", "--short", "HEAD"]),
    }


def head_of_results(kind: str) -> dict[str, Any]:
    """What a file of results begins with; made before anything is measured."""
    return {
        "measured": datetime.now(UTC).date().isoformat(),
        "machine": describe_machine(),
        "load_before": os.getloadavg()[0],
        "sources": sources.stamp(kind),
    }


def write_results(path: Path, results: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n")
    print(f"wrote {path}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=sources.raw_results(), help="folder for recorder.json")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--scale", type=float, default=1.0, help="size of the workloads; below 1 only for a look"
    )
    parser.add_argument("--only", nargs="*", default=[], help="names of workloads")
    options = parser.parse_args()
    if not shutil.which("heaptrack"):
        print("heaptrack is missing; install the Debian package heaptrack", file=sys.stderr)
        return 2
    head = head_of_results("recorder")
    runs: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build = Path(os.environ.get("HEAPWRIGHT_BUILD", project / "build/release"))
        workloads = [
            w for w in prepare(folder, build, options.scale) if not options.only or w.name in options.only
        ]
        for round_number, workload, variant in turns(options.rounds, workloads, variants):
            figures = measure(workload, variant, folder, round_number == 0)
            runs.append({"workload": workload.name, "variant": variant, "round": round_number, **figures})
            print(f"{workload.name:10} {variant:26} {figures['wall_s']:7.2f} s", flush=True)
    result = {
        **head,
        "scale": options.scale,
        "workloads": {w.name: {"what": w.what, "threads": w.threads, "pairs": w.pairs} for w in workloads},
        "runs": runs,
    }
    write_results(options.output / "recorder.json", result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
