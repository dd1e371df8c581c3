# SPDX-License-Identifier: MIT
"""The table of docs/languages.md, of bench/results/languages.json."""

from __future__ import annotations

from statistics import median
from typing import Any

import documents
from heapwright.report import markdown
from taken import counted, each, fields

TAKEN = {"languages": fields({"rows": each(fields({"alone_cpu_s": counted, "recorded_cpu_s": counted}))})}


def _row(row: dict[str, Any]) -> list[str]:
    alone, recorded = row["alone_cpu_s"], row["recorded_cpu_s"]
    added_ns = (recorded["median"] - alone["median"]) / row["allocations"] * 1e9
    most = max(recorded["high"] - recorded["median"], recorded["median"] - recorded["low"])
    return [
        f"{row['language']} {row['version']}",
        f"{100 * row['named']:.0f} %",
        f"{row['allocations'] / 1e6:.2f} M",
        f"{alone['median']:.2f} s",
        f"{recorded['median']:.2f} s",
        f"{added_ns:.0f} ns",
        f"± {most / row['allocations'] * 1e9:.0f}",
    ]


def render() -> str:
    """A row for each program."""
    result = documents.read("languages")
    heads = ["program", "named", "calls", "alone", "recorded", "added a call", ""]
    runs = median(row["alone_cpu_s"]["runs"] for row in result["rows"])
    lines = [
        *markdown.table(heads, [_row(row) for row in result["rows"]], "lrrrrrr"),
        "",
        f"Medians of {runs:.0f} runs in turns. {documents.machine_of(result)}. {documents.said([result])}",
    ]
    return "\n".join(lines)


BLOCKS = [documents.below("docs/languages.md", "languages", render)]
