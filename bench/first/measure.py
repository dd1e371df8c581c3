#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A new user's first answer: its time, its commands, and in which line of what is printed it stands.

Three programs, each with one fault: in C++ with debug symbols, the same stripped, and in Python. Each tool is
used as its own introduction says. The answer is the function that holds what is never freed; for the stripped
program it is enough to say what would name it. The programs alone are timed, too. Tools that are missing are
left out. Writes build/results/first.json; bench/pack.py and bench/render.py make the table.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from heapwright.measure import machine

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import sources  # noqa: E402

LIMIT_S = 300
SERVICE = project / "examples/tutorial/climbing_service.cpp"
GROWING = project / "bench/first/growing.py"


class Case(NamedTuple):
    """answer: what a line has that holds it, as a regular expression."""

    name: str
    program: str
    answer: str


def cases(folder: Path) -> list[Case]:
    """The programs, built."""
    made = [folder / "service", folder / "stripped"]
    for path in made:
        compiler = ["g++", "-std=c++20", "-O2", "-g", str(SERVICE), "-o", str(path)]
        subprocess.run(compiler, check=True, timeout=LIMIT_S)
    subprocess.run(["strip", str(made[1])], check=True, timeout=LIMIT_S)
    return [
        Case("C++, debug symbols", str(made[0]), r"note_visit"),
        Case("C++, stripped", str(made[1]), r"stripped|debug symbols|debuginfod"),
        Case("Python", f"/usr/bin/python3 {GROWING}", r"remember|growing\.py:2\d"),
    ]


def tools(heapwright: Path, memray: str) -> dict[str, list[str]]:
    """The commands of each, as shell lines. $P: the program. $F: a file of its own."""
    found = {
        "heapwright run": [f"{heapwright} run -- $P"],
        "heapwright run --unchecked": [f"{heapwright} run --unchecked -- $P"],
    }
    if shutil.which("heaptrack"):
        found["heaptrack"] = ["heaptrack -o $F $P", "heaptrack_print $F.*"]
    if memray:
        found["memray"] = [f"{memray} run --native -o $F ${{P#* }}", f"{memray} summary $F"]
    return found


def first_answer(commands: list[str], case: Case, folder: Path) -> dict[str, Any]:
    """Time until the commands have ended, and the line of their output with the answer; None: it has none."""
    environment = {**os.environ, "P": case.program, "F": str(folder / "recorded"), "COLUMNS": "100"}
    lines: list[str] = []
    begin_s = time.monotonic()
    for command in commands:
        line = command.replace("$P", case.program)
        done = subprocess.run(
            ["/bin/bash", "-c", f"({line}) 2>&1 </dev/null"],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            errors="replace",
            timeout=LIMIT_S,
            check=False,
        )
        lines += done.stdout.splitlines()
    elapsed_ns = int((time.monotonic() - begin_s) * 1e9)
    at = next((number for number, line in enumerate(lines, 1) if re.search(case.answer, line)), None)
    return {"elapsed_ns": elapsed_ns, "commands": len(commands), "lines": len(lines), "answer_line": at}


def measured(case: Case, wanted: dict[str, list[str]], runs: int) -> dict[str, Any]:
    """Of each tool, the runs in turns."""
    found: dict[str, Any] = {"alone": [], "tools": {name: [] for name in wanted}}
    for _ in range(runs):
        begin_s = time.monotonic()
        subprocess.run(
            ["/bin/bash", "-c", case.program], check=True, stdout=subprocess.DEVNULL, timeout=LIMIT_S
        )
        found["alone"].append(int((time.monotonic() - begin_s) * 1e9))
        for name, commands in wanted.items():
            if name == "memray" and not case.program.startswith("/usr/bin/python3"):
                continue
            with tempfile.TemporaryDirectory() as folder:
                found["tools"][name].append(first_answer(commands, case, Path(folder)))
    found["tools"] = {name: one for name, one in found["tools"].items() if one}
    return found


def main() -> None:
    """Runs and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--command", type=Path, default=project / ".venv/bin/heapwright")
    parser.add_argument("--memray", default=shutil.which("memray") or "", help="its program")
    parser.add_argument("--output", type=Path, default=sources.raw_results())
    options = parser.parse_args()
    wanted = tools(options.command, options.memray)
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(Path(folder)):
            found[case.name] = measured(case, wanted, options.runs)
            print(case.name, json.dumps(found[case.name]), flush=True)
    made = {
        "schema": "heapwright.bench.first/1",
        "machine": machine.describe(),
        "sources": sources.stamp("first"),
    }
    text = json.dumps({**made, "cases": found}, indent=1)
    (options.output / "first.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
