#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether `explain` names the cause of resident memory, and by how much its bytes are off.

Runs each scenario of bench/cause/scenarios.py (or those whose name has a given word) under the recorder,
and again without it where a remedy or the allocator's own account tells the truth. Writes
OUTPUT/cause.json; bench/cause/render.py makes the table in docs/truth.md of it.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from scenarios import SCENARIOS, run

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import sources  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=project / "bench/results")
    parser.add_argument("only", nargs="*", help="words in the scenarios' names")
    options = parser.parse_args()
    path = options.output / "cause.json"
    before = json.loads(path.read_text())["scenarios"] if options.only and path.exists() else []
    rows = {row["name"]: row for row in before}
    for scenario in SCENARIOS:
        if not options.only or any(word in scenario.name for word in options.only):
            rows[scenario.name] = run(scenario)
            print(json.dumps(rows[scenario.name]), flush=True)
    ordered = [rows[scenario.name] for scenario in SCENARIOS if scenario.name in rows]
    path.write_text(json.dumps({"sources": sources.stamp("cause"), "scenarios": ordered}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
