#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a change gives by replay beside the program that was changed so: build/results/replay_changes.json.

tests/programs/changed_loads.cpp does the same work in several ways. The plain way is recorded once and
replayed with the change; then both ways run in turns, their CPU time and private pages read.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from heapwright.measure import machine

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import sources  # noqa: E402
from measure import anonymous_bytes, heapwright  # noqa: E402

program = str(project / "build/release/programs/changed_loads")


class Case(NamedTuple):
    """A load, its plain way, the changed one, and what --change says."""

    load: str
    plain: str
    changed: str
    change: str
    times: str


CASES = (
    Case("trees", "heap", "arena", "arena@make_node,make_text", "100"),
    Case("trees", "heap", "node_pool", "node_pool@make_node,make_text", "100"),
    Case("buffers", "realloc", "reserve", "reserve@grow", "2000"),
    Case("vectors", "grown", "reserve", "reserve@append", "100"),
    Case("small", "vector", "small_vector", "small_vector:64@append_to", "100"),
    Case("queue", "heap", "buffer_cache", "buffer_cache@make_buffer", "100"),
    Case("sessions", "heap", "segregate", "segregate@make_session", "400"),
    Case("tables", "heap", "deferred_free", "deferred_free@make_row", "40"),
    Case("requests", "heap", "arena", "arena:phase=request@make_row", "40"),
    Case("leftovers", "heap", "exit_policy", "exit_policy@make_row", "100"),
)


def run_once(case: Case, way: str) -> tuple[int, float]:
    """The peak in bytes, and the CPU time in nanoseconds."""
    process = subprocess.Popen([program, case.load, way, case.times], stdout=subprocess.DEVNULL)
    peak = 0
    while True:
        done, status, usage = os.wait4(process.pid, os.WNOHANG)
        if done:
            break
        peak = max(peak, anonymous_bytes(process.pid))
    if status != 0:
        raise RuntimeError(f"{case.load} {way} failed: {status}")
    return peak, 1e9 * (usage.ru_utime + usage.ru_stime)


def measure(case: Case, folder: Path, runs: int) -> dict[str, Any]:
    file = folder / "program.heapwright"
    line = [heapwright, "record", "--quiet", "--force", "-o", str(file), "--", program]
    subprocess.run([*line, case.load, case.plain, case.times], check=True, stdout=subprocess.DEVNULL)
    line = [heapwright, "replay", str(file), "--change", case.change, "--idle", "0", "--json"]
    done = subprocess.run(line, check=True, capture_output=True, text=True)
    plain, changed = (candidate["figures"] for candidate in json.loads(done.stdout)["candidates"])
    real: dict[str, list[tuple[int, float]]] = {case.plain: [], case.changed: []}
    for _ in range(runs):
        for way, found in real.items():
            found.append(run_once(case, way))
    return {
        **case._asdict(),
        "predicted_plain_bytes": plain["peak_bytes"]["value"],
        "predicted_bytes": changed["peak_bytes"]["value"],
        "predicted_time_difference_ns": changed["time_ns"]["difference"],
        "verdicts": {key: changed[key]["verdict"] for key in ("time_ns", "peak_bytes")},
        "real_bytes": {way: [peak for peak, _ in found] for way, found in real.items()},
        "real_cpu_ns": {way: [cpu for _, cpu in found] for way, found in real.items()},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--output", type=Path, default=sources.raw_results() / "replay_changes.json")
    parser.add_argument("--runs", type=int, default=9, help="real runs of each way")
    options = parser.parse_args()
    results: dict[str, Any] = {"machine": machine.describe(), "sources": sources.stamp("replay"), "cases": []}
    with tempfile.TemporaryDirectory(prefix="heapwright-bench-") as folder:
        for case in CASES:
            row = measure(case, Path(folder), options.runs)
            results["cases"].append(row)
            cpu = {way: median(found) for way, found in row["real_cpu_ns"].items()}
            print(case.change, row["predicted_bytes"], row["real_bytes"][case.changed], flush=True)
            print(row["predicted_time_difference_ns"], cpu[case.changed] - cpu[case.plain], flush=True)
    options.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
