#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Puts bench/results/replay.json into docs/replay.md: see bench/documents.py for the options."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median
from typing import Any

from heapwright.report import markdown, units

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import documents  # noqa: E402
import sources  # noqa: E402

document_path = project / "docs/replay.md"
results_path = project / "bench/results/replay.json"


def error_of(predicted: float, real: float) -> str:
    share = 100 * (predicted - real) / real
    return f"{'−' if share < 0 else '+'}{abs(share):.1f} %"


def spread_of(real: list[int]) -> str:
    least, most = units.size(min(real)), units.size(max(real))
    return least if least == most else f"{least} to {most}"


def row_of(program: str, candidate: dict[str, Any]) -> list[str]:
    if candidate["predicted_bytes"] is None:
        return [program, candidate["name"], candidate["failure"], spread_of(candidate["real_bytes"]), "–"]
    predicted, real = candidate["predicted_bytes"], candidate["real_bytes"]
    return [
        program,
        candidate["name"],
        units.size(predicted),
        spread_of(real),
        error_of(predicted, median(real)),
    ]


def main() -> int:
    results = json.loads(results_path.read_text(encoding="utf-8"))
    rows, errors = [], []
    for program in results["programs"]:
        for candidate in program["candidates"]:
            rows.append(row_of(program["name"], candidate))
            if candidate["predicted_bytes"] is not None and candidate["name"] != program["reference"]:
                errors.append(abs(candidate["predicted_bytes"] / median(candidate["real_bytes"]) - 1))
    head = ["program", "on", "predicted peak", f"{results['runs']} real runs", "error"]
    within = sum(error <= 0.1 for error in errors)
    lines = [
        f"{within} of {len(errors)} predictions for another allocator or setting are within 10 % of "
        f"the median real run, the median error is {100 * median(errors):.1f} %. {sources.said([results])}",
        "",
        *markdown.table(head, rows),
    ]
    return documents.give_results(document_path, "\n".join(lines).rstrip())


if __name__ == "__main__":
    sys.exit(main())
