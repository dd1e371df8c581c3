#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the table in docs/advice.md from bench/results/advice.json; no figure there is typed by hand.

It stands between two marks in the document; options as in bench/documents.py.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heapwright.explain.advice import RULES
from heapwright.measure.statistics import summarize
from heapwright.report import markdown, units

sys.path.append(str(Path(__file__).resolve().parents[1]))
import documents

PARTS = {rule.name for rule in RULES if rule.is_least}  # of the gain: no bound from above
WORDS = {
    "work_ns": "the work",
    "process_ns": "the process",
    "waited_ns": "waiting",
    "resident_bytes": "resident",
    "requested_bytes": "requested",
}


def row_of(rule: str, found: Mapping[str, Any]) -> list[str]:
    is_time = found["figure"].endswith("_ns")
    unit = "ns" if is_time else "bytes"
    bound = found["bound"]["gain_ns" if is_time else "gain_bytes"]
    before, after = summarize(found["as_is"]), summarize(found["fixed"])
    gain = before.median - after.median

    def written(value: float) -> str:
        return units.number(int(value), unit)

    return [
        rule,
        WORDS[found["figure"]],
        f"{written(before.median)} ±{written(before.spread)}",
        f"{written(after.median)} ±{written(after.spread)}",
        written(gain) if gain > 0 else f"−{written(-gain)}",
        f"≥ {written(bound)}" if rule in PARTS else written(bound),
        units.percent(gain / bound) if gain > 0 else "none",
    ]


def render() -> str:
    document = documents.read("advice")
    machine, rules = document["machine"], document["rules"]
    runs = len(next(iter(rules.values()))["as_is"])
    is_busy = float(str(machine["load_average"]).split()[0]) > machine["cpus"]
    busy = [
        "The machine was busy: in the recordings, a preempted call counts in full, so the bounds are wider "
        "than on an idle machine. Gains are CPU time.",
        "",
    ]
    lines = [
        documents.figures_of("advice"),
        "",
        f"Measured on {documents.machine_of(document)} at the start; medians of {runs} runs in turns, ± the "
        "median distance from it.",
        "",
        documents.said([document]),
        "",
        *(busy if is_busy else []),
        *markdown.table(
            ["rule", "measured", "unchanged", "advice followed", "gain", "bound", "share of the bound"],
            [row_of(rule, found) for rule, found in rules.items()],
        ),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(documents.give_results(documents.project / "docs/advice.md", render()))
