#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures how fast recordings are read, beside heaptrack_print in the same run.

Records three programs with both tools, as they are and LONG times as long,
then reads all recordings in turn, so that a slow minute of the machine falls
on both. Reading is the whole command, from its start to the prompt.
heaptrack pairs calls and looks up symbols in a step of its own, before
heaptrack_print: it is measured without and with that step. The raw figures go
to OUTPUT/analysis.json; render.py makes the tables.

With --large-gb N instead: reads one made-up trace of that size, for the memory
that takes, into OUTPUT/analysis-large.json.
"""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from heapwright.measure.turns import turns
from measure import count_heaptrack_events, environment, head_of_results, run, sources, write_results
from workloads import Workload, prepare, project

build = Path(os.environ.get("HEAPWRIGHT_BUILD", project / "build/release"))
command = os.environ.get("HEAPWRIGHT_COMMAND", str(project / ".venv/bin/heapwright"))
names = ("pairs", "sqlite3", "python3")
bytes_per_synthetic_event = 3.6
interpreter = "/usr/lib/heaptrack/libexec/heaptrack_interpret"


def record(workload: Workload, folder: Path) -> dict[str, dict[str, Any]]:
    """For each way of reading: the command line and how many events it reads."""
    ours = folder / f"{workload.name}.heapwright"
    raw = folder / f"{workload.name}.raw.zst"
    theirs = folder / f"{workload.name}.zst"
    again = folder / f"{workload.name}.again.zst"
    run([str(build / "bin/heapwright-collect"), "--quiet", "--output", str(ours), "--", *workload.line])
    run(["heaptrack", "--raw", "-o", str(folder / workload.name), *workload.line])
    run(["sh", "-c", interpret(raw, theirs)])
    events = count_heaptrack_events(theirs)
    both = f"{interpret(raw, again)} && heaptrack_print -f {shlex.quote(str(again))}"
    return {
        "heapwright": {"line": explain(ours), "events": count_events(ours)},
        "heaptrack_print": {"line": ["heaptrack_print", "-f", str(theirs)], "events": events},
        "heaptrack_interpret and _print": {"line": ["sh", "-c", both], "events": events},
    }


def interpret(raw: Path, out: Path) -> str:
    """The shell line that heaptrack itself names for this."""
    return f"zstd -dc < {shlex.quote(str(raw))} | {interpreter} | zstd -qc > {shlex.quote(str(out))}"


def count_events(trace: Path) -> int:
    return int(json.loads(subprocess.check_output([command, "info", "--json", str(trace)]))["events"])


def explain(trace: Path) -> list[str]:
    return [command, "explain", "--json", str(trace)]


def measure_recordings(length: int, rounds: int, scale: float) -> list[dict[str, Any]]:
    runs = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        workloads = [w for w in prepare(folder, build, scale, length) if w.name in names]
        recordings = {w.name: record(w, folder) for w in workloads}
        tools = sorted(next(iter(recordings.values())))
        for round_number, workload, tool in turns(rounds, recordings, tools):
            reading = recordings[workload][tool]
            figures = run(reading["line"])
            runs.append(
                {"workload": workload, "length": length, "tool": tool, "round": round_number}
                | {"events": reading["events"], **figures}
            )
            print(f"{workload:8} x{length:<3} {tool:30} {figures['wall_s']:7.2f} s", flush=True)
    return runs


def measure_large(gigabytes: float) -> dict[str, Any]:
    """One large made-up trace: how long `explain` takes and the most memory it holds."""
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "large.heapwright"
        events = int(gigabytes * 1e9 / bytes_per_synthetic_event)
        writer = build / "bin/write_synthetic_trace"
        subprocess.run([str(writer), str(file), str(events), "8", "2000", "2000000"], check=True)
        start = time.perf_counter()
        process = subprocess.Popen(explain(file), stdout=subprocess.DEVNULL, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - start
        if status != 0:
            raise SystemExit(f"heapwright explain ended with status {status}")
        return {
            "file_bytes": file.stat().st_size,
            "events": count_events(file),
            "wall_s": wall_s,
            "peak_resident_bytes": usage.ru_maxrss * 1024,
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=sources.raw_results())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="below 1 only for a look")
    parser.add_argument("--long", type=int, default=8)
    parser.add_argument("--large-gb", type=float, default=0.0, help="read one trace of this size instead")
    options = parser.parse_args()
    if not options.large_gb and not shutil.which("heaptrack"):
        print("heaptrack is missing; install the Debian package heaptrack", file=sys.stderr)
        return 2
    result = head_of_results("analysis")
    if options.large_gb:
        name = "analysis-large.json"
        result |= measure_large(options.large_gb)
    else:
        name = "analysis.json"
        runs = measure_recordings(1, options.rounds, options.scale)
        runs += measure_recordings(options.long, options.rounds, options.scale)
        result |= {"scale": options.scale, "runs": runs}
    write_results(options.output / name, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
