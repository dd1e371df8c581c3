#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the first screen says a setting does, and what it really does.

Each program is recorded and explained with the check by a replay. The first setting that a finding on the
first screen names is applied for real: runs without the recorder, in turns with and without it. Writes
build/results/judged.json; bench/render.py makes the table.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from heapwright.measure import machine

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import sources  # noqa: E402

JEMALLOC = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
REFAULTS = """
wire = b'a' * (1 << 20)
for _ in range(2000):
    request = bytearray(wire)
    message = bytearray(request)
"""
PARSING = "import json; json.loads(json.dumps([{'a': i} for i in range(100000)]))"


class Case(NamedTuple):
    """program: of tests/programs, or a path."""

    name: str
    program: str
    arguments: Sequence[str] = ()
    environment: Mapping[str, str] = {}


CASES = (
    Case("1 MiB buffers for each message", "refault_echo", ("2000",)),
    Case(
        "buffers, jemalloc gives back at once", "refault_decay", (),
        {"LD_PRELOAD": JEMALLOC, "MALLOC_CONF": "dirty_decay_ms:0"},
    ),
    Case("threads leave free memory in arenas", "keeps_memory", ("arenas",)),
    Case("large blocks raise the threshold", "keeps_memory", ("threshold",)),
    Case("survivors on each page", "keeps_memory", ("pinned",)),
    Case("python3, buffers", "/usr/bin/python3", ("-c", REFAULTS), {"PYTHONMALLOC": "malloc"}),
    Case("python3 parses JSON", "/usr/bin/python3", ("-c", PARSING)),
    Case("sqlite3", "/usr/bin/sqlite3", (":memory:", f".read {project}/examples/orders.sql")),
    Case("jq", "/usr/bin/jq", ("-n", "[range(200000) | {a: .}] | length")),
)  # fmt: skip


def said_of(command: Path, line: Sequence[str], environment: Mapping[str, str]) -> dict[str, Any]:
    """The findings that name a remedy, and the settings of the first one that needs no code."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.heapwright"
        subprocess.run(
            [command, "record", "-o", trace, "--", *line],
            env={**os.environ, **environment}, capture_output=True, check=True, timeout=120,
        )  # fmt: skip
        explain = [command, "explain", trace, "--json", "--check"]
        done = subprocess.run(explain, capture_output=True, check=True, timeout=120)
    findings = json.loads(done.stdout)["summary"]["findings"]
    told = [one["text"] for one in findings if one["question"] in ("cause", "advice")]
    for text in told:
        found = dict(re.findall(r"\b([A-Z][A-Z_]+_?)=([\w.-]+)", text.split("(a replay")[0]))
        removed = re.findall(r"remove \S+ from ([A-Z_]+)", text)
        if found or removed:
            return {"text": text, "set": found, "remove": removed}
    return {"text": told[0] if told else "", "set": {}, "remove": []}


def run(line: Sequence[str], environment: Mapping[str, str]) -> dict[str, int]:
    """One run's CPU time, peak and, if it prints that, memory at rest."""
    started = subprocess.Popen(
        line, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert started.stdout is not None
    output = started.stdout.read()
    started.stdout.close()
    _, _, used = os.wait4(started.pid, 0)
    resident = re.search(r"^note resident (\d+)$", output, re.MULTILINE)
    peak = used.ru_maxrss * 1024
    return {
        "cpu_ns": int((used.ru_utime + used.ru_stime) * 1e9),
        "memory_bytes": int(resident[1]) if resident else peak,
    }


def measured(case: Case, options: argparse.Namespace) -> dict[str, Any]:
    path = case.program if case.program.startswith("/") else str(options.build / "programs" / case.program)
    line = [path, *case.arguments]
    said = said_of(options.command, line, case.environment)
    changed = {name: value for name, value in case.environment.items() if name not in said["remove"]}
    changed |= said["set"]
    found: dict[str, Any] = {"said": said, "before": [], "after": []}
    is_setting = changed != dict(case.environment)
    for _ in range(options.runs if is_setting else 0):
        found["before"].append(run(line, case.environment))
        found["after"].append(run(line, changed))
    return found


def main() -> None:
    """Asks, runs and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--build", type=Path, default=project / "build/release")
    parser.add_argument("--command", type=Path, default=project / ".venv/bin/heapwright")
    parser.add_argument("--output", type=Path, default=sources.raw_results())
    options = parser.parse_args()
    cases: dict[str, Any] = {}
    for case in CASES:
        program = case.program if case.program.startswith("/") else ""
        needed = (case.environment.get("LD_PRELOAD", ""), program)
        if any(path and not Path(path).exists() for path in needed):
            continue
        cases[case.name] = measured(case, options)
        print(case.name, cases[case.name], flush=True)
    document = {
        "schema": "heapwright.bench.judged/1",
        "machine": machine.describe(),
        "sources": sources.stamp("judged"),
        "cases": cases,
    }
    (options.output / "judged.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
