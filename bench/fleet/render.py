#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Puts bench/results/fleet.json into docs/fleet.md: see bench/documents.py for the options."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median

from heapwright.report import markdown

sys.path.append(str(Path(__file__).resolve().parents[1]))
import documents


def main() -> int:
    result = documents.read("fleet")
    machine = result["machine"]
    load, beside = documents.load_of(
        (machine["load_average"], result["load_average_at_end"]), machine["cpus"]
    )
    rows = [
        [of["name"], f"{median(of['seconds']):.2f}", f"{min(of['seconds']):.2f}–{max(of['seconds']):.2f}"]
        for of in result["questions"]
    ]
    regressions = next(of for of in result["questions"] if of["name"] == "regressions")
    rows_in_all = sum(result["rows"].values())
    lines = [
        *markdown.table(["question", "median, s", "range, s"], rows),
        f"{result['processes']:,} processes of {result['services']} services, {rows_in_all:,} rows, "
        f"{result['file_bytes'] / 1e6:,.0f} MB of files; {len(regressions['seconds'])} runs, the command's "
        "start included. The planted growing site was found in "
        f"{len(regressions['services_found'])} of {result['services']} services. {machine['cpus']} CPUs, "
        f"{machine['cpu']}, {load}{beside}. "
        f"{documents.said([result])}",
    ]
    return documents.give_results(documents.project / "docs/fleet.md", "\n".join(lines))


if __name__ == "__main__":
    sys.exit(main())
