# SPDX-License-Identifier: MIT
"""The table of timed calls in docs/count.md, of bench/results/times.json."""

from typing import Any

import documents
from heapwright.report import markdown, units
from taken import counted, each, fields


def taken(runs: list[dict[str, int]]) -> dict[str, Any]:
    """Of as many threads. Where too few calls were timed, count says so and gives no figure."""
    known = [run for run in runs if run["is_known"]]
    times = ("processor_ns", "called_ns", "time_ns", "time_error_ns")
    return {
        "runs": len(known),
        "unknown": len(runs) - len(known),
        **{name: counted([run[name] for run in known]) for name in times},
        "off_percent": counted([100 * (run["time_ns"] / run["called_ns"] - 1) for run in known]),
        "inside": sum(abs(run["time_ns"] - run["called_ns"]) <= run["time_error_ns"] for run in known),
        "impossible": sum(run["time_ns"] - run["time_error_ns"] > run["processor_ns"] for run in known),
    }


TAKEN = {"times": fields({"runs": each(taken)})}


def row(threads: str, of: dict[str, Any]) -> list[str]:
    """Of as many threads."""
    off = of["off_percent"]
    return [
        threads,
        *(units.duration(of[name]["median"]) for name in ("processor_ns", "called_ns", "time_ns")),
        f"± {units.duration(of['time_error_ns']['median'])}",
        f"{off['low']:+.0f} to {off['high']:+.0f} %".replace("-", "−"),
        f"{of['inside']} of {of['runs']}" + (f", {of['unknown']} unknown" if of["unknown"] else ""),
        str(of["impossible"]),
    ]


def render() -> str:
    """The table."""
    document = documents.read("times")
    header = ["threads", "processor time", "of that in calls", "estimated", "", "estimate less truth",
              "interval holds the truth", "more than all processor time"]  # fmt: skip
    lines = [
        documents.figures_of("times"),
        "",
        f"Measured on {documents.machine_of(document)} at the end; medians of runs of "
        f"{document['milliseconds']} ms.",
        "",
        documents.said([document]),
        "",
        *markdown.table(header, [row(threads, runs) for threads, runs in document["runs"].items()]),
    ]
    return "\n".join(lines)


BLOCKS = [documents.marked("docs/count.md", "times", render)]
