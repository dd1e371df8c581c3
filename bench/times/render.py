#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a table in docs/count.md from bench/results/times.json; no figure there is typed by hand.

It stands between two marks in the document; options as in bench/documents.py.
"""

import sys
from pathlib import Path
from statistics import median

from heapwright.report import markdown, units

sys.path.append(str(Path(__file__).resolve().parents[1]))
import documents


def row(threads: str, runs: list[dict[str, int]]) -> list[str]:
    """Of as many threads. Where too few calls were timed, count says so and gives no figure."""
    unknown = sum(not run["is_known"] for run in runs)
    runs = [run for run in runs if run["is_known"]]
    inside = sum(abs(run["time_ns"] - run["called_ns"]) <= run["time_error_ns"] for run in runs)
    off = [100 * (run["time_ns"] / run["called_ns"] - 1) for run in runs]
    impossible = sum(run["time_ns"] - run["time_error_ns"] > run["processor_ns"] for run in runs)
    return [
        threads,
        units.duration(median(run["processor_ns"] for run in runs)),
        units.duration(median(run["called_ns"] for run in runs)),
        units.duration(median(run["time_ns"] for run in runs)),
        f"± {units.duration(median(run['time_error_ns'] for run in runs))}",
        f"{min(off):+.0f} to {max(off):+.0f} %".replace("-", "−"),
        f"{inside} of {len(runs)}" + (f", {unknown} unknown" if unknown else ""),
        str(impossible),
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


if __name__ == "__main__":
    sys.exit(documents.give_results(documents.project / "docs/count.md", render(), "times"))
