#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How fast a replay is, and what it takes beside the heap calls: build/results/replay_speed.json.

Recordings are made up by bench/analyze/write_synthetic_trace.cpp. CPU time is of all threads of the
process, in the kernel too; wall time means little on a machine that does other work: load_average says so.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from heapwright.measure import machine

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import sources  # noqa: E402

build = project / "build/release"
program = build / "bin/heapwright-replay"
heapwright = project / ".venv/bin/heapwright"
ON = "glibc,jemalloc,tcmalloc,mimalloc,heapwright"
SITES = "500"
# What a replay with timed calls reads of the recording beside the plan.
READ_TIMES = (
    "import sys; from pathlib import Path; from heapwright.model import Trace; "
    "from heapwright.replay import time_fidelity; "
    "time_fidelity.recorded(time_fidelity.begin(Trace(Path(sys.argv[1]))).take())"
)


def compiled(source: Path, into: Path, *more: str) -> Path:
    command = ["g++", "-std=c++20", "-O2", "-fno-builtin", f"-I{project / 'src'}", f"-I{project / 'include'}"]
    libraries = [str(build / f"src/{name}/libheapwright_{name}.a") for name in ("replay", "order", "trace")]
    libraries += [str(build / "src/figures/libheapwright_figures.a"), "-lzstd", "-lpthread"]
    subprocess.run([*command, str(source), "-o", str(into), *libraries, *more], check=True)
    return into


def run(command: Sequence[str | Path], preload: str = "") -> dict[str, Any]:
    """Wall, CPU and the largest resident size of a process; output: what it said."""
    environment = dict(os.environ) | ({"LD_PRELOAD": preload} if preload else {})
    begin = time.monotonic()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen([str(word) for word in command], env=environment, stdout=output)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - begin
        output.seek(0)
        said = output.read()
    if status != 0:
        raise RuntimeError(f"{command} failed: {status}")
    return {
        "wall_s": wall,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_resident_bytes": usage.ru_maxrss * 1024,
        "load_average": os.getloadavg()[0],
        "output": said,
    }


def without_output(figures: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in figures.items() if key != "output"}


def own_cost(folder: Path, writer: Path, runs: int) -> dict[str, Any]:
    """Nanoseconds of CPU for each operation with a heap that does nothing."""
    trace, plan = folder / "one.heapwright", folder / "one.plan"
    run([writer, trace, "10000000", "1", SITES, "1000"])
    operations = json.loads(run([program, "plan", trace, plan, "0"])["output"])["operations"]
    heap = str(compiled(project / "bench/replay/trivial_heap.cpp", folder / "trivial.so", "-shared", "-fPIC"))
    loop = compiled(project / "bench/replay/hand_loop.cpp", folder / "hand_loop")
    by_hand, replayed = [], []
    for _ in range(runs):
        by_hand.append(float(run([loop, plan], heap)["output"]))
        said = json.loads(run([program, "run", plan, "dependency"], heap)["output"])
        replayed.append(said["cpu_ns"] / operations)
    found = {"operations": operations, "hand_loop_ns": by_hand, "dependency_ns": replayed}
    print({key: median(value) for key, value in found.items() if isinstance(value, list)}, flush=True)
    return found


def large(folder: Path, writer: Path, events: int, runs: int) -> dict[str, Any]:
    """A long recording: the plan, each order once on glibc, --quick, and the whole answer."""
    trace, plan = folder / "large.heapwright", folder / "large.plan"
    run([writer, trace, str(events), "4", SITES, "100000"])
    plans = [without_output(run([program, "plan", trace, plan, "0"])) for _ in range(3)]
    found: dict[str, Any] = {"events": events, "threads": 4, "plan": plans}
    print("plan", plans, flush=True)
    for order in ("recorded", "dependency", "dry"):
        words = ["0", "0"] if order == "recorded" else []
        found[order] = without_output(run([program, "run", plan, order, *words]))
        print(order, found[order], flush=True)
    plan.unlink()
    found["recorded_times"] = [
        without_output(run([sys.executable, "-c", READ_TIMES, trace])) for _ in range(3)
    ]
    print("recorded times", found["recorded_times"], flush=True)
    for name, words in (("quick", ["--quick"]), ("answer", ["--runs", str(runs), "--idle", "0"])):
        command = [heapwright, "replay", trace, "--on", ON, "--json", *words]
        figures = run(command)
        candidates = json.loads(figures["output"])["candidates"]
        found[name] = without_output(figures) | {"candidates": len(candidates), "words": words}
        print(name, found[name], flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--output", type=Path, default=sources.raw_results() / "replay_speed.json")
    parser.add_argument("--events", type=int, default=100_000_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="heapwright-bench-") as name:
        folder = Path(name)
        writer = compiled(project / "bench/analyze/write_synthetic_trace.cpp", folder / "write_trace")
        results = {
            "machine": machine.describe(),
            "sources": sources.stamp("replay"),
            "own_cost": own_cost(folder, writer, 5),
            "large": large(folder, writer, options.events, options.runs),
        }
    options.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
