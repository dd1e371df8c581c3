#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what storing refaults adds to a recording: the share of its CPU time, by samples of perf.

Records a program whose heap's end comes and goes (480 page faults a message), with perf around the program
and the collector. Counted are the samples in the collector's functions of refaults, the collector's, and
all. Shares hold on a busy machine, too. The raw figures go to OUTPUT/refaults.json; needs perf.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from heapwright.measure.errors import MeasureError
from measure import head_of_results, project, sources, write_results

PROGRAM = "refault_echo"
MESSAGES = "3000"
COLLECTOR = "heapwright-coll"  # as long as the kernel keeps a name
OF_REFAULTS = ("Refaults", "FaultedPages")
SAMPLES_A_SECOND = "1999"


def shares(report: str) -> dict[str, float]:
    """Of perf's lines: overhead, command, symbol.

    >>> lines = ["0.50%  ;heapwright-coll;[.] a::Refaults::begin", "3.00%;heapwright-coll;[k] b"]
    >>> shares("\\n".join(["# a comment", *lines, "96.5%;x;[.] c"]))
    {'refaults': 0.005, 'collector': 0.035}
    """
    found = {"refaults": 0.0, "collector": 0.0}
    for line in report.splitlines():
        share, _, rest = line.strip().partition("%")
        _, name, symbol = [*rest.split(";", 2), "", ""][:3]
        if line.startswith("#") or name.strip() != COLLECTOR:
            continue
        found["collector"] += float(share) / 100
        found["refaults"] += float(share) / 100 if any(one in symbol for one in OF_REFAULTS) else 0.0
    return {name: round(share, 5) for name, share in found.items()}


def measured(build: Path, command: Path, folder: Path) -> dict[str, float]:
    """One recording."""
    data = folder / "perf.data"
    line = [
        command,
        "record",
        "-o",
        folder / "trace.heapwright",
        "--force",
        "--",
        build / "programs" / PROGRAM,
    ]
    sampled = ["perf", "record", "-q", "-F", SAMPLES_A_SECOND, "-o", data, *line, MESSAGES]
    subprocess.run(list(map(str, sampled)), check=True, capture_output=True, timeout=300)
    report = ["perf", "report", "-i", data, "--no-children", "-g", "none", "--sort", "comm,symbol", "-t", ";"]
    done = subprocess.run(list(map(str, report)), check=True, capture_output=True, text=True, timeout=300)
    found = shares(done.stdout)
    if not found["refaults"]:
        raise MeasureError("perf saw no function of refaults: build the collector with symbols")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=sources.raw_results())
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--build", type=Path, default=project / "build/release")
    parser.add_argument("--command", type=Path, default=project / ".venv/bin/heapwright")
    options = parser.parse_args()
    head = head_of_results("recorder")
    with tempfile.TemporaryDirectory() as name:
        runs = [
            {"program": PROGRAM, "round": number, **measured(options.build, options.command, Path(name))}
            for number in range(options.rounds)
        ]
    for run in runs:
        print(run)
    write_results(options.output / "refaults.json", {**head, "messages": int(MESSAGES), "runs": runs})
    return 0


if __name__ == "__main__":
    sys.exit(main())
