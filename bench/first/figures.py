# SPDX-License-Identifier: MIT
"""The table of first answers in docs/run.md, of bench/results/first.json."""

from __future__ import annotations

from statistics import median
from typing import Any

import documents
from heapwright.report import markdown, units
from taken import counted, each, fields


def of_tool(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians; the line of the answer is that of the last run."""
    last = runs[-1]
    return {
        "elapsed_ns": median(run["elapsed_ns"] for run in runs),
        "runs": len(runs),
        **{name: last[name] for name in ("commands", "lines", "answer_line")},
    }


TAKEN = {"first": fields({"cases": each(fields({"alone": counted, "tools": each(of_tool)}))})}


def render() -> str:
    """The table."""
    result = documents.read("first")
    rows = []
    for name, case in result["cases"].items():
        for tool, one in case["tools"].items():
            at = one["answer_line"]
            rows.append(
                [
                    name,
                    units.duration(case["alone"]["median"]),
                    tool,
                    str(one["commands"]),
                    units.duration(one["elapsed_ns"]),
                    str(one["lines"]),
                    "not in it" if at is None else str(at),
                ]
            )
    return "\n".join(
        [
            documents.figures_of("first"),
            "",
            documents.said([result]),
            "",
            *markdown.table(
                [
                    "program",
                    "alone",
                    "tool",
                    "commands",
                    "until the answer",
                    "lines printed",
                    "answer in line",
                ],
                rows,
                "lrlrrrr",
            ),
        ]
    )


BLOCKS = [documents.marked("docs/run.md", "first", render)]
