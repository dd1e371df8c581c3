# SPDX-License-Identifier: MIT
"""The times in docs/fleet.md, of bench/results/fleet.json."""

from __future__ import annotations

import documents
from heapwright.report import markdown
from taken import counted, each, fields

TAKEN = {"fleet": fields({"questions": each(fields({"seconds": counted}))})}


def render() -> str:
    result = documents.read("fleet")
    machine = result["machine"]
    load, beside = documents.load_of(
        (machine["load_average"], result["load_average_at_end"]), machine["cpus"]
    )
    rows = [
        [name, f"{seconds['median']:.2f}", f"{seconds['low']:.2f}–{seconds['high']:.2f}"]
        for name, seconds in ((of["name"], of["seconds"]) for of in result["questions"])
    ]
    regressions = next(of for of in result["questions"] if of["name"] == "regressions")
    rows_in_all = sum(result["rows"].values())
    lines = [
        *markdown.table(["question", "median, s", "range, s"], rows),
        f"{result['processes']:,} processes of {result['services']} services, {rows_in_all:,} rows, "
        f"{result['file_bytes'] / 1e6:,.0f} MB of files; {regressions['seconds']['runs']} runs, the "
        "command's start included. The planted growing site was found in "
        f"{len(regressions['services_found'])} of {result['services']} services. {machine['cpus']} CPUs, "
        f"{machine['cpu']}, {load}{beside}. "
        f"{documents.said([result])}",
    ]
    return "\n".join(lines)


BLOCKS = [documents.marked("docs/fleet.md", "results", render)]
