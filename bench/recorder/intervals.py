# SPDX-License-Identifier: MIT
"""Do the intervals of sampled recordings hold? One known program, recorded 200 times.

Records bench/recorder/sampled_program.cpp once in full, which is the truth, and 200 times with
--sample; compares every interval of the reports with the truth and writes the raw rows to
build/results/intervals.json. Run it as

    .venv/bin/python bench/recorder/intervals.py [--runs 200] [--sample 64k]
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))
import sources  # noqa: E402

COMMAND = Path(sys.executable).parent / "heapwright"
# Figures of the tables of sites: question -> figures.
FIGURES = {
    "volume": ("bytes", "allocations"),
    "overhead": ("overhead_bytes",),
    "leaks": ("live_bytes", "live_blocks"),
    "peak": ("live_bytes", "live_blocks"),
}


def build(folder: Path) -> Path:
    """The program, with names for its sites."""
    program = folder / "sampled_program"
    source = ROOT / "bench/recorder/sampled_program.cpp"
    subprocess.run(
        ["g++", "-std=c++20", "-O1", "-g", "-fno-builtin", "-rdynamic", "-o", program, source], check=True
    )
    return program


def record(program: Path, folder: Path, *options: str) -> dict[str, Any]:
    """One recording's report."""
    trace = folder / "trace.heapwright"
    line = [COMMAND, "record", "--quiet", "--force", "--output", trace, *options, "--", program]
    subprocess.run([str(part) for part in line], check=True, stdout=subprocess.DEVNULL)
    said = subprocess.run(
        [str(COMMAND), "explain", str(trace), "--json", "--top", "40"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    document: dict[str, Any] = json.loads(said.stdout)
    assert document["summary"]["completeness"]["is_complete"]
    return document


def figures(document: dict[str, Any]) -> dict[str, tuple[int, list[int] | None]]:
    """Value and interval of everything that is compared, by name."""
    summary = document["summary"]
    found: dict[str, tuple[int, list[int] | None]] = {}

    def add(name: str, part: dict[str, Any], figure: str) -> None:
        found[name] = part[figure], part.get("intervals", {}).get(figure)

    for figure in ("allocations", "requested_bytes"):
        add(f"total {figure}", summary["totals"], figure)
    for figure in ("live_bytes", "live_blocks"):
        add(f"total peak {figure}", summary["peak"], figure)
    for figure in ("live_at_end_bytes", "live_at_end_blocks"):
        add(f"total {figure}", summary, figure)
    for question, names in FIGURES.items():
        for site in document["questions"][question]["sites"]:
            if "site<" not in site["function"]:
                continue
            for figure in names:
                add(f"{question} {figure} {site['function']}", site, figure)
    return found


def least_hits(runs: int) -> int:
    """So many of `runs` intervals of 95 % hold at least, in 999 of 1000 series."""
    chances = [math.comb(runs, hits) * 0.95**hits * 0.05 ** (runs - hits) for hits in range(runs + 1)]
    below = 0.0
    for hits, chance in enumerate(chances):
        below += chance
        if below > 0.001:
            return hits
    return runs


def main() -> int:
    """Runs the bench; exit code 1 when an interval holds too seldom."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--sample", default="64k")
    arguments = parser.parse_args()
    rows: dict[str, list[list[int]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = build(folder)
        truth = {name: value for name, (value, _) in figures(record(program, folder)).items()}
        for run in range(arguments.runs):
            for name, (value, interval) in figures(
                record(program, folder, "--sample", arguments.sample)
            ).items():
                assert interval is not None, f"{name} has no interval"
                rows[name].append([value, *interval])
            print(f"\r{run + 1} of {arguments.runs}", end="", file=sys.stderr)
    print(file=sys.stderr)
    revision = subprocess.run(
        ["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    document = {
        "revision": revision.stdout.strip(),
        "sample": arguments.sample,
        "runs": arguments.runs,
        "rows_are": "estimate, from, to",
        "figures": [{"name": name, "truth": truth[name], "rows": rows[name]} for name in sorted(rows)],
    }
    text = json.dumps(document, separators=(",", ":")).replace('{"name"', '\n{"name"')
    (sources.raw_results() / "intervals.json").write_text(f"{text}\n")
    return judge(document)


def judge(document: dict[str, Any]) -> int:
    """Says how often each interval holds; 1 when one of totals or sites holds too seldom."""
    failed = 0
    print(f"{'holds':>8} {'seen':>5} {'bias':>8}  figure")
    for figure in document["figures"]:
        rows, truth = figure["rows"], figure["truth"]
        hits = sum(low <= truth <= high for _, low, high in rows)
        # A site that left no sample has no row: the bias counts it as 0.
        bias = sum(value for value, _, _ in rows) / document["runs"] / truth - 1
        is_peak = "peak" in figure["name"]  # of a moment that the samples chose
        is_low = hits < least_hits(len(rows)) and not is_peak
        failed += is_low
        print(
            f"{100 * hits / len(rows):7.1f}% {len(rows):5} {100 * bias:+7.2f}%  {figure['name']}"
            f"{'   TOO LOW' if is_low else ''}"
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
