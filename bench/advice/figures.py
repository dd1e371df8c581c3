# SPDX-License-Identifier: MIT
"""The table in docs/advice.md, of bench/results/advice.json."""

from collections.abc import Mapping
from typing import Any

import documents
from heapwright.explain.advice import RULES
from heapwright.report import markdown, units
from taken import each, fields, figure

PARTS = {rule.name for rule in RULES if rule.is_least}  # of the gain: no bound from above
WORDS = {
    "work_ns": "the work",
    "process_ns": "the process",
    "waited_ns": "waiting",
    "resident_bytes": "resident",
    "requested_bytes": "requested",
}


RUNS = figure("median", "spread", "runs")
TAKEN = {"advice": fields({"rules": each(fields({"as_is": RUNS, "fixed": RUNS}))})}


def row_of(rule: str, found: Mapping[str, Any]) -> list[str]:
    is_time = found["figure"].endswith("_ns")
    unit = "ns" if is_time else "bytes"
    bound = found["bound"]["gain_ns" if is_time else "gain_bytes"]
    before, after = found["as_is"], found["fixed"]
    gain = before["median"] - after["median"]

    def written(value: float) -> str:
        return units.number(int(value), unit)

    return [
        rule,
        WORDS[found["figure"]],
        f"{written(before['median'])} ±{written(before['spread'])}",
        f"{written(after['median'])} ±{written(after['spread'])}",
        written(gain) if gain > 0 else f"−{written(-gain)}",
        f"≥ {written(bound)}" if rule in PARTS else written(bound),
        units.percent(gain / bound) if gain > 0 else "none",
    ]


def render() -> str:
    document = documents.read("advice")
    machine, rules = document["machine"], document["rules"]
    runs = next(iter(rules.values()))["as_is"]["runs"]
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


BLOCKS = [documents.marked("docs/advice.md", "results", render)]
