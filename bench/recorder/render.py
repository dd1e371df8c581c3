#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes docs/performance.md from the raw results; no figure in it is typed by hand.

Without options prints it; --write writes it; --check fails when the document
and the results disagree.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

project = Path(__file__).resolve().parents[2]
results_path = project / "bench/results/recorder.json"
document_path = project / "docs/performance.md"
ours = ["heapwright", "heapwright --no-durations", "heapwright --free-stacks"]

Runs = list[dict[str, Any]]


def values(runs: Runs, workload: str, variant: str, field: str) -> list[float]:
    return [
        float(r[field]) for r in runs if (r["workload"], r["variant"]) == (workload, variant) and field in r
    ]


def median(runs: Runs, workload: str, variant: str, field: str) -> float | None:
    found = values(runs, workload, variant, field)
    return statistics.median(found) if found else None


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def spread(found: list[float], digits: int) -> str:
    return f"{statistics.median(found):.{digits}f} ({min(found):.{digits}f}–{max(found):.{digits}f})"


def added_per_pair(runs: Runs, workload: str, variant: str) -> float:
    alone = median(runs, workload, "alone", "ns_per_pair")
    recorded = median(runs, workload, variant, "ns_per_pair")
    assert alone is not None and recorded is not None
    return recorded - alone


def pair_tables(results: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    for name, facts in results["workloads"].items():
        if not facts["pairs"]:
            continue
        runs = results["runs"]
        theirs = added_per_pair(runs, name, "heaptrack")
        rows = [["alone", spread(values(runs, name, "alone", "ns_per_pair"), 1), "", "", ""]]
        for variant in ["heaptrack", *ours]:
            added = added_per_pair(runs, name, variant)
            recorded = median(runs, name, variant, "ns_per_pair")
            assert recorded is not None
            million_events = 2e3 / recorded
            measured = spread(values(runs, name, variant, "ns_per_pair"), 1)
            rows.append([variant, measured, f"{added:.1f}", f"{added / theirs:.2f}", f"{million_events:.1f}"])
        lines += [f"### {name}: {facts['what']}", ""]
        lines += table(["", "ns per pair", "added ns", "added, of heaptrack's", "million events/s"], rows)
        lines += [""]
    return lines


def program_table(results: dict[str, Any]) -> list[str]:
    runs = results["runs"]
    rows = []
    for name, facts in results["workloads"].items():
        if facts["pairs"]:
            continue
        alone = median(runs, name, "alone", "wall_s")
        assert alone is not None
        row = [f"{name}: {facts['what']}", spread(values(runs, name, "alone", "wall_s"), 2)]
        for variant in ["heaptrack", *ours]:
            found = values(runs, name, variant, "wall_s")
            row.append(f"{spread(found, 2)}, × {statistics.median(found) / alone:.2f}")
        rows.append(row)
    return table(["wall seconds", "alone", "heaptrack", *ours], rows)


def size_table(results: dict[str, Any]) -> list[str]:
    runs = results["runs"]
    rows = []
    for name in results["workloads"]:
        row = [name]
        for variant in ["heapwright", "heaptrack"]:
            file_bytes = median(runs, name, variant, "file_bytes")
            events = median(runs, name, variant, "events")
            row += [f"{events:,.0f}", f"{file_bytes / events:.2f}"] if file_bytes and events else ["", ""]
        rows.append(row)
    head = ["", "events", "bytes per event", "heaptrack's events", "heaptrack's bytes per event"]
    return table(head, rows)


def analysis_table(results: dict[str, Any]) -> list[str]:
    runs = results["runs"]
    rows = []
    for name in results["workloads"]:
        rates = []
        for variant in ["heapwright", "heaptrack"]:
            seconds = median(runs, name, variant, "analysis_s")
            events = median(runs, name, variant, "events")
            if seconds and events:
                rates.append((seconds, events / seconds / 1e6))
        if len(rates) == 2:
            cells = [f"{seconds:.2f} s, {rate:.1f} M/s" for seconds, rate in rates]
            rows.append([name, *cells, f"{rates[0][1] / rates[1][1]:.1f}"])
    return (
        table(["", "heapwright explain --json", "heaptrack_print", "rate, times heaptrack's"], rows)
        if rows
        else []
    )


def render(results: dict[str, Any]) -> str:
    machine = results["machine"]
    rounds = 1 + max(r["round"] for r in results["runs"])
    lines = [
        "# Performance",
        "",
        "Made by `bench/recorder/render.py` from `bench/results/recorder.json`; `make bench` measures again.",
        "",
        "<!-- figures: bench/results/recorder.json -->",
        "",
        f"Measured {results['measured']} at revision {machine['revision']} on {machine['processor']}, "
        f"{machine['cores']} cores, Linux {machine['kernel']}, {machine['libc']}, {machine['heaptrack']}. "
        f"{rounds} rounds in which the variants alternate; medians, with the lowest and highest in brackets. "
        f"The load before was {results['load_before']:.1f}.",
        "",
        "## Cost per call",
        "",
        "The program measures itself, from its first pair to its last. Every call is recorded with stack,",
        "time, thread and, unless switched off, duration.",
        "",
        *pair_tables(results),
        "## Slowdown of programs",
        "",
        "Wall time of the whole command, from its start to the prompt: writing the trace is in it, and so is",
        "heaptrack's interpretation, but for cc1plus, whose file heaptrack 1.4.0 cannot interpret: there it",
        "only records (`--raw`).",
        "",
        *program_table(results),
        "",
        "## Size on disk",
        "",
        "An event is one call. heaptrack counts a realloc as two and stores neither times nor threads.",
        "",
        *size_table(results),
        "",
        "## Speed of the analysis",
        "",
        "The whole command, from its start to the prompt.",
        "",
        *analysis_table(results),
    ]
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if not results_path.exists():
        if options.check and not document_path.exists():
            print("figures: none measured, none claimed")
            return 0
        print(f"{results_path} is missing; run 'make bench'", file=sys.stderr)
        return 2
    text = render(json.loads(results_path.read_text()))
    if options.check:
        is_same = document_path.exists() and document_path.read_text() == text
        print(
            "figures: as measured" if is_same else "docs/performance.md: run bench/recorder/render.py --write"
        )
        return 0 if is_same else 1
    if options.write:
        document_path.write_text(text)
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
