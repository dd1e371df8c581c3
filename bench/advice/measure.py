#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How near the bounds of explain's advice are to what following it gives.

For each rule records tests/programs/advice/RULE as it is and asks for the
advice; then runs it as it is and with the advice followed, in turns and without
a recorder. The figure is what the rule's bound is about: processor time of the
work, of the whole process, or while requests waited; or bytes. OUTPUT/advice.json
keeps the bounds and all runs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from heapwright.explain.advice import RULES
from heapwright.measure import machine

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import sources  # noqa: E402

# What the gain is read from: a line that the program prints, or "process_ns".
FIGURES = {
    "arena_count": "resident_bytes",
    "deferred_free": "waited_ns",
    "exit_policy": "process_ns",
    "private_heap": "resident_bytes",
    "untouched_tails": "requested_bytes",
}
ENVIRONMENT = {("setting", "as_is"): {"MALLOC_MMAP_THRESHOLD_": "65536"}}


def environment(rule: str, mode: str) -> dict[str, str]:
    return {**os.environ, **ENVIRONMENT.get((rule, mode), {})}


def figure_of(program: Path, rule: str, mode: str) -> int:
    """One run's."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [program, mode], env=environment(rule, mode), capture_output=True, text=True, check=True, timeout=120
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = int((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e9)
    said = {name: int(value) for name, value in re.findall(r"^(\w+) (\d+)$", done.stdout, re.MULTILINE)}
    return {**said, "process_ns": took}[FIGURES.get(rule, "work_ns")]


def bound_of(command: Path, program: Path, rule: str) -> dict[str, Any]:
    """What the rule's first advice promises at most."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.heapwright"
        subprocess.run(
            [command, "record", "-o", trace, "--", program, "as_is"],
            env=environment(rule, "as_is"), capture_output=True, check=True, timeout=300,
        )  # fmt: skip
        line = [command, "explain", trace, "--question", "advice", "--json"]
        done = subprocess.run(line, capture_output=True, check=True, timeout=300)
    answer = json.loads(done.stdout)["questions"]["advice"]
    told = next(row for row in answer["advice"] if row["rule"] == rule)
    return {name: told[name] for name in ("gain_ns", "gain_bytes", "confidence", "pattern")}


def main() -> None:
    """Asks, runs and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--build", type=Path, default=project / "build/release")
    parser.add_argument("--command", type=Path, default=project / ".venv/bin/heapwright")
    parser.add_argument("--output", type=Path, default=sources.raw_results())
    options = parser.parse_args()
    rules: dict[str, Any] = {}
    for rule in sorted(rule.name for rule in RULES):
        program = options.build / f"programs/advice_{rule}"
        found: dict[str, Any] = {"figure": FIGURES.get(rule, "work_ns")}
        found["bound"] = bound_of(options.command, program, rule)
        found["as_is"], found["fixed"] = [], []
        for _ in range(options.runs):
            for mode in ("as_is", "fixed"):
                found[mode].append(figure_of(program, rule, mode))
        rules[rule] = found
        print(rule, found["bound"], sorted(found["as_is"]), sorted(found["fixed"]), flush=True)
    document = {
        "schema": "heapwright.bench.advice/1",
        "machine": machine.describe(),
        "sources": sources.stamp("advice"),
        "rules": rules,
    }
    path = options.output / "advice.json"
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
