# SPDX-License-Identifier: MIT
"""The tables of attaching in docs/count.md, and of record --pid in docs/record.md."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import documents
from heapwright.report import markdown, units
from taken import each, fields, figure

stop_heads = ["attach: median", "p99", "most", "detach: median", "p99", "most"]


times = figure("median", "low", "p99", "high", "runs")
stop = fields({"attach_ns": times, "detach_ns": times, "events": sum, "dropped": sum}, but=("stops",))
taken = fields({"stops": each(stop), "pair_ns": each(times)})
TAKEN = {"attach": taken, "record_process": taken}


def spread(of: Mapping[str, float]) -> list[str]:
    """Median, p99 and the most."""
    return [units.duration(of[name]) for name in ("median", "p99", "high")]


def calls(found: dict[str, Any]) -> list[str]:
    """Recorded and lost; nothing where calls are only counted."""
    return [units.count(found[name]) for name in ("events", "dropped") if name in found]


def render(name: str) -> str:
    """The tables of bench/results/NAME.json."""
    document = documents.read(name)
    times = document["pair_ns"]
    rows = [
        [process, units.count(found["attach_ns"]["runs"]), *spread(found["attach_ns"]),
         *spread(found["detach_ns"]), *calls(found), "no" if found["exit_code"] == 0 else "yes"]
        for process, found in document["stops"].items()
    ]  # fmt: skip
    recorded = ["calls", "dropped"] if name == "record_process" else []
    pairs = [[state, f"{runs['low']:.1f} ns", f"{runs['median']:.1f} ns"] for state, runs in times.items()]
    lines = [
        documents.figures_of(name),
        "",
        f"Measured on {documents.machine_of(document)} at the end.",
        "",
        documents.said([document]),
        "",
        "How long the process was stopped, from the first thread's stop to the last one's resumption:",
        "",
        *markdown.table(["process", "cycles", *stop_heads, *recorded, "harm"], rows),
        "",
        f"Processor time of a malloc and a free in one process, {times['before']['runs']} runs each; "
        "the others in turns:",
        "",
        *markdown.table(["", "least", "median"], pairs),
    ]
    return "\n".join(lines)


BLOCKS = [
    documents.marked("docs/count.md", "attach", partial(render, "attach")),
    documents.marked("docs/record.md", "record_process", partial(render, "record_process")),
]
