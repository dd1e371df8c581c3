# SPDX-License-Identifier: MIT
"""The table of judged remedies in docs/advice.md, of bench/results/judged.json."""

import re
from collections.abc import Mapping
from typing import Any

import documents
from heapwright.report import markdown, units
from taken import each, fields, grouped

TAKEN = {"judged": fields({"cases": each(fields({"before": grouped(), "after": grouped()}))})}


def _said(text: str) -> str:
    """The judged part of a finding, or its gain."""
    found = re.search(r"measured by replay: (.*?)(?:;|$)|(at most .*?)(?: \(|;| less|$)", text)
    return found[1] or found[2] if found else "nothing"


def _change(runs: Mapping[str, Any], key: str, unit: str) -> str:
    before, after = (runs[side][key]["median"] for side in ("before", "after"))
    share = units.signed_percent((after - before) / max(before, 1))
    return f"{units.number(int(before), unit)} → {units.number(int(after), unit)} ({share})"


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
    runs = max(case["before"]["cpu_ns"]["runs"] for case in cases.values() if case["before"])
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


BLOCKS = [documents.marked("docs/advice.md", "judged", render)]
