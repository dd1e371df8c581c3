#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Puts bench/results/fleet.json into docs/fleet.md: see bench/documents.py for the options."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import documents  # noqa: E402
import sources  # noqa: E402


def main() -> int:
    result = json.loads((project / "bench/results/fleet.json").read_text())
    machine, loads = result["machine"], (result["machine"]["load_average"], result["load_average_at_end"])
    beside = ": other work ran beside it" if max(loads) > machine["cpus"] + 1 else ""
    rows = [
        f"| {of['name']} | {median(of['seconds']):.2f} | {min(of['seconds']):.2f}–{max(of['seconds']):.2f} |"
        for of in result["questions"]
    ]
    regressions = next(of for of in result["questions"] if of["name"] == "regressions")
    rows_in_all = sum(result["rows"].values())
    lines = [
        "| question | median, s | range, s |",
        "|---|--:|--:|",
        *rows,
        "",
        f"{result['processes']:,} processes of {result['services']} services, {rows_in_all:,} rows, "
        f"{result['file_bytes'] / 1e6:,.0f} MB of files; {len(regressions['seconds'])} runs, the command's "
        "start included. The site that was made to grow was found in "
        f"{len(regressions['services_found'])} of {result['services']} services. {machine['cpus']} CPUs, "
        f"{machine['cpu']}, load average {min(loads):.1f} to {max(loads):.1f}{beside}. "
        f"{sources.said([result])}",
    ]
    return documents.give_results(project / "docs/fleet.md", "\n".join(lines))


if __name__ == "__main__":
    sys.exit(main())
