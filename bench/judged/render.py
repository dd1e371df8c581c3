#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the table in docs/advice.md from bench/results/judged.json; no figure there is typed by hand.

It stands between two marks in the document; options as in bench/documents.py.
"""

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heapwright.measure.statistics import summarize
from heapwright.report import markdown, units

sys.path.append(str(Path(__file__).resolve().parents[1]))
import documents


def _said(text: str) -> str:
    """The judged part of a finding, or its gain."""
    found = re.search(r"measured by replay: (.*?)(?:;|$)|(at most .*?)(?: \(|;| less|$)", text)
    return found[1] or found[2] if found else "nothing"


def _change(runs: Mapping[str, Any], key: str, unit: str) -> str:
    before, after = (summarize([one[key] for one in runs[side]]) for side in ("before", "after"))
    share = units.signed_percent((after.median - before.median) / max(before.median, 1))
    return f"{units.number(int(before.median), unit)} → {units.number(int(after.median), unit)} ({share})"


def row_of(name: str, case: Mapping[str, Any]) -> list[str]:
    said = case["said"]
    settings = [f"{key}={value}" for key, value in said["set"].items()]
    settings += [f"no {key}" for key in said["remove"]]
    if not case["before"]:
        return [name, "none by a setting", _said(said["text"]), "–", "–"]
    return [
        name,
        " ".join(f"`{one}`" for one in settings),
        _said(said["text"]),
        _change(case, "cpu_ns", "ns"),
        _change(case, "memory_bytes", "bytes"),
    ]


def render() -> str:
    document = documents.read("judged")
    cases = document["cases"]
    runs = max(len(case["before"]) for case in cases.values())
    lines = [
        documents.figures_of("judged"),
        "",
        f"Measured on {documents.machine_of(document)} at the start; medians of {runs} runs in turns, "
        "without the recorder. Memory: at rest if the program prints it, otherwise its peak.",
        "",
        documents.said([document]),
        "",
        *markdown.table(
            ["program", "setting that the first screen names", "said", "CPU time, really", "memory, really"],
            [row_of(name, case) for name, case in cases.items()],
        ),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(documents.give_results(documents.project / "docs/advice.md", render(), "judged"))
