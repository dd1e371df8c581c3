#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether `explain` names the cause of resident memory and of slow calls, and how far its figures are off.

Runs each scenario of bench/cause/scenarios.py, kept_pages.py and slow.py (or those whose name has a given
word) under the recorder, and again without it where a remedy or the allocator's own account tells the truth.
Writes OUTPUT/cause.json and OUTPUT/slow.json, which bench/cause/render.py puts into docs/truth.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import kept_pages
import same_end
import scenarios
import slow
from heapwright.measure import machine
from running import Answer

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import sources  # noqa: E402


def measure(
    path: Path, kind: str, all_of_it: Sequence[Any], run: Callable[[Any], Answer], only: Sequence[str]
) -> None:
    """Replaces the rows of the scenarios that are asked for."""
    wanted = [one for one in all_of_it if not only or any(word in one.name for word in only)]
    if not wanted:
        return
    document: Answer = json.loads(path.read_text()) if only and path.exists() else {"scenarios": []}
    rows = {row["name"]: row for row in document["scenarios"]}
    for scenario in wanted:
        rows[scenario.name] = run(scenario)
        print(json.dumps(rows[scenario.name]), flush=True)
    ordered = [rows[scenario.name] for scenario in all_of_it if scenario.name in rows]
    described = {"machine": machine.describe(), "sources": sources.stamp(kind)}
    _write(path, {**document, **described, "scenarios": ordered})


def _write(path: Path, document: Answer) -> None:
    path.write_text(json.dumps(document, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=sources.raw_results())
    parser.add_argument("only", nargs="*", help="words in the scenarios' names; S15: Debian's programs")
    options = parser.parse_args()
    memory = (*scenarios.SCENARIOS, *kept_pages.SCENARIOS)
    measure(options.output / "cause.json", "cause", memory, scenarios.run, options.only)
    measure(options.output / "slow.json", "slow", slow.SCENARIOS, slow.run, options.only)
    if not options.only or "S15" in options.only:
        path = options.output / "same_end.json"
        answer = same_end.run()
        print(json.dumps(answer), flush=True)
        _write(path, {"sources": sources.stamp("same_end"), **answer})
    return 0


if __name__ == "__main__":
    sys.exit(main())
