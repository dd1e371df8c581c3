#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What libheapwright-apply.so costs the calls of other sites, and what a remedy gives back.

Instructions are callgrind's, of user code; those of a pair are the difference of two loops of different
length, and other work on the machine does not change them. Memory is the kernel's highest resident set of
whole runs, alone, with the remedy and with the change in the code, beside replay's prediction.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from heapwright.measure import machine

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import sources  # noqa: E402

SHORT_PAIRS, LONG_PAIRS = 100_000, 200_000
LOOPS = ("malloc", "calloc", "new")
SITES = ("in_first_loop", "in_second_loop", "in_third_loop")
ROUNDS = "100"


class Bench:
    """The tools, and a folder for what is made."""

    def __init__(self, build: Path, command: Path, folder: Path) -> None:
        self.build, self.command, self.folder = build, command, folder
        self.library = build / "lib/libheapwright-apply.so"

    def keep(self, name: str, sites: Sequence[str], line: Sequence[object]) -> Path:
        """Records a program and writes remedies for its sites."""
        trace, remedy = self.folder / f"{name}.heapwright", self.folder / f"{name}.toml"
        words = [word for site in sites for word in ("--remedy", f"segregate@{site}")]
        quiet: dict[str, Any] = {"check": True, "timeout": 120, "stdout": subprocess.DEVNULL}
        subprocess.run([self.command, "record", "-o", trace, "--", *map(str, line)], **quiet)
        subprocess.run([self.command, "keep", trace, *words, "-o", remedy], **quiet)
        return remedy

    def applied(self, remedy: Path | None) -> dict[str, str]:
        """The environment of a run with the library."""
        return {"LD_PRELOAD": str(self.library)} | ({"HEAPWRIGHT_APPLY": str(remedy)} if remedy else {})

    def predicted(self, trace: Path, change: str) -> dict[str, int]:
        """The highest resident set that replay has on the recorded allocator, without and with a change."""
        words = ["replay", trace, "--change", change, "--idle", "0", "--runs", "3", "--json"]
        done = subprocess.run([self.command, *words], check=True, timeout=600, capture_output=True, text=True)
        candidates = json.loads(done.stdout)["candidates"]
        highest = [
            sorted(run["highest_bytes"] for run in one["runs"]["memory"])[len(one["runs"]["memory"]) // 2]
            for one in candidates
        ]
        return {"without_bytes": highest[0], "with_bytes": highest[1]}


def instructions(line: Sequence[object], environment: Mapping[str, str]) -> int:
    """User code's, by callgrind."""
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    done = subprocess.run(
        [*tool, *map(str, line)],
        env={**os.environ, **environment},
        check=True,
        timeout=600,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    return int(re.findall(r"Collected : (\d+)", done.stderr)[-1])


def per_pair(program: Path, loop: str, environment: Mapping[str, str], *words: str) -> float:
    """Instructions of one block's making and release."""
    few, many = (
        instructions([program, loop, count, *words], environment) for count in (SHORT_PAIRS, LONG_PAIRS)
    )
    return (many - few) / (LONG_PAIRS - SHORT_PAIRS)


def highest_bytes(line: Sequence[object], environment: Mapping[str, str]) -> int:
    """Of one run, by the kernel."""
    with subprocess.Popen(
        list(map(str, line)), env={**os.environ, **environment}, stdout=subprocess.DEVNULL
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{line[0]} failed")
    return usage.ru_maxrss * 1024


def measure_pairs(bench: Bench) -> dict[str, Any]:
    """Of each loop: alone, with the library, with three remedies for others, and as one of these."""
    program = bench.folder / "loops"
    compiler = [
        "g++",
        "-O2",
        "-g",
        "-fno-builtin",
        "-fno-optimize-sibling-calls",
        project / "bench/apply/loops.cpp",
        "-o",
        program,
    ]
    subprocess.run(compiler, check=True, timeout=60)
    remedy = bench.keep("loops", SITES, [program, "malloc", 1000])
    found: dict[str, Any] = {}
    for loop in LOOPS:
        found[loop] = {
            "alone": per_pair(program, loop, {}),
            "without remedies": per_pair(program, loop, bench.applied(None)),
            "other sites": per_pair(program, loop, bench.applied(remedy)),
            "a named site": per_pair(program, loop, bench.applied(remedy), "named"),
        }
        print(loop, found[loop], flush=True)
    return found


def measure_memory(bench: Bench, runs: int) -> dict[str, Any]:
    """A site whose blocks stay among many that go."""
    program = bench.build / "programs/changed_loads"
    line = [program, "sessions", "heap", ROUNDS]
    remedy = bench.keep("sessions", ["make_session"], line)
    ways: dict[str, tuple[list[Any], dict[str, str]]] = {
        "alone": (line, {}),
        "the remedy": (line, bench.applied(remedy)),
        "the change in the code": ([program, "sessions", "segregate", ROUNDS], {}),
    }
    highest: dict[str, list[int]] = {way: [] for way in ways}
    for _ in range(runs):
        for way, (words, environment) in ways.items():
            highest[way].append(highest_bytes(words, environment))
    print(highest, flush=True)
    replayed = bench.predicted(bench.folder / "sessions.heapwright", "segregate@make_session")
    print(replayed, flush=True)
    return {"highest_bytes": highest, "replayed": replayed}


def main() -> None:
    """Runs and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="of each, for the memory")
    parser.add_argument("--build", type=Path, default=project / "build/release")
    parser.add_argument("--command", type=Path, default=project / ".venv/bin/heapwright")
    parser.add_argument("--output", type=Path, default=sources.raw_results())
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options.build, options.command, Path(folder))
        document = {
            "schema": "heapwright.bench.apply/1",
            "machine": machine.describe(),
            "sources": sources.stamp("apply"),
            "instructions_per_pair": measure_pairs(bench),
            "memory": measure_memory(bench, options.runs),
        }
    (options.output / "apply.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
