#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes docs/performance.md from the raw results; no figure in it is typed by hand.

Options as in bench/documents.py.
"""

import json
import statistics
import sys
from pathlib import Path
from typing import Any

from heapwright.report import markdown

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import documents  # noqa: E402
import sources  # noqa: E402

results_path = project / "bench/results/recorder.json"
analysis_path = project / "bench/results/analysis.json"
large_path = project / "bench/results/analysis-large.json"
columns_path = project / "bench/results/trace-columns.json"
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


def spread(found: list[float], digits: int) -> str:
    return f"{statistics.median(found):.{digits}f} ({min(found):.{digits}f}–{max(found):.{digits}f})"


def added_per_pair(runs: Runs, workload: str, variant: str) -> float:
    alone = median(runs, workload, "alone", "ns_per_pair")
    recorded = median(runs, workload, variant, "ns_per_pair")
    assert alone is not None and recorded is not None
    return recorded - alone


def answer(results: dict[str, Any]) -> str:
    """The page in two sentences."""
    runs, workloads = results["runs"], results["workloads"]
    pair = next(name for name, facts in workloads.items() if facts["pairs"])
    added = [added_per_pair(runs, pair, variant) for variant in ("heapwright", "heaptrack")]
    slower: dict[str, list[float]] = {"heapwright": [], "heaptrack": []}
    for name in (name for name, facts in workloads.items() if not facts["pairs"]):
        alone = statistics.median(values(runs, name, "alone", "wall_s"))
        for variant, found in slower.items():
            found.append(statistics.median(values(runs, name, variant, "wall_s")) / alone)
    ranges = [f"{min(found):.2f} to {max(found):.2f}" for found in slower.values()]
    return (
        f"Recording adds {added[0]:.1f} ns to a malloc and its free (heaptrack: {added[1]:.1f} ns). "
        f"Real programs take {ranges[0]} times as long (heaptrack: {ranges[1]})."
    )


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
        lines += markdown.table(
            ["", "ns per pair", "added ns", "added, of heaptrack's", "million events/s"], rows
        )
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
    return markdown.table(["wall seconds", "alone", "heaptrack", *ours], rows)


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
    return markdown.table(head, rows)


reading_tools = ["heapwright", "heaptrack_print", "heaptrack_interpret and _print"]


def analysis_table(analysis: dict[str, Any]) -> list[str]:
    cases = sorted({(r["length"], r["workload"]) for r in analysis["runs"]})
    rows = []
    for case in cases:
        cells, rates = [], []
        for tool in reading_tools:
            runs = [r for r in analysis["runs"] if (r["length"], r["workload"]) == case and r["tool"] == tool]
            million = runs[0]["events"] / 1e6
            rates.append(statistics.median(million / r["wall_s"] for r in runs))
            cells.append(f"{spread([r['wall_s'] for r in runs], 2)} s, {rates[-1]:.1f} M/s")
            if tool == "heapwright":
                cells.insert(0, f"{million:.1f}")
        rows.append([case[1], *cells, f"{rates[0] / rates[1]:.1f}", f"{rates[0] / rates[2]:.1f}"])
    head = ["", "million events", "heapwright explain --json", *reading_tools[1:]]
    return markdown.table([*head, "rate, times _print's", "times both's"], rows)


def rate_table(analysis: dict[str, Any]) -> list[str]:
    """Events per second between the short and the long recording, without what starts and ends a command."""
    lengths = sorted({r["length"] for r in analysis["runs"]})
    rows = []
    for workload in sorted({r["workload"] for r in analysis["runs"]}):
        rates = []
        for tool in reading_tools:
            runs = [r for r in analysis["runs"] if (r["workload"], r["tool"]) == (workload, tool)]
            ends = [[r for r in runs if r["length"] == length] for length in (lengths[0], lengths[-1])]
            short_s, long_s = (statistics.median(r["wall_s"] for r in end) for end in ends)
            rates.append((ends[1][0]["events"] - ends[0][0]["events"]) / 1e6 / (long_s - short_s))
        ratios = [f"{rates[0] / rate:.1f}" for rate in rates[1:]]
        rows.append([workload, *(f"{rate:.1f} M/s" for rate in rates), *ratios])
    return markdown.table(["", *reading_tools, "times _print's", "times both's"], rows)


def analysis_section(analysis: dict[str, Any]) -> list[str]:
    longest = max(r["length"] for r in analysis["runs"])
    rounds = 1 + max(r["round"] for r in analysis["runs"])
    return [
        "## Speed of the analysis",
        "",
        "Times are of whole commands, from start to prompt, including Python's start, symbols and printing.",
        "heaptrack_print reads what heaptrack_interpret has paired and looked up before; the last column",
        "includes both steps, since `heapwright explain` does both. The same programs were recorded",
        f"once as above and once running {longest} times as long; {rounds} rounds",
        f"in turn, medians with the lowest and highest in brackets (measured {analysis['measured']} at "
        f"revision {analysis['machine']['revision']} on {analysis['machine']['processor']}, "
        f"load before {analysis['load_before']:.1f}).",
        "",
        *analysis_table(analysis),
        "The rate alone, from the difference between the long and the short recordings:",
        "",
        *rate_table(analysis),
    ]


def large_section(large: dict[str, Any]) -> list[str]:
    million, seconds = large["events"] / 1e6, large["wall_s"]
    peak_mib = large["peak_resident_bytes"] / 2**20
    return [
        f"A synthetic trace of {large['file_bytes'] / 1e9:.2f} GB, {million:,.0f} million events, up to",
        f"2 million live blocks: {seconds:.0f} s, {million / seconds:.1f} million events/s,",
        f"at most {peak_mib:.0f} MiB resident (revision {large['machine']['revision']}, "
        f"load before {large['load_before']:.1f}).",
    ]


def columns_section(columns: dict[str, Any]) -> list[str]:
    traces = columns["traces"]
    names = {name: "the synthetic mix" if name == "mix" else name for name in traces}
    rows = [
        [group, *(f"{of['bytes'][group] / of['events']:.2f}" for of in traces.values())]
        for group in next(iter(traces.values()))["bytes"]
    ]
    sums = [f"{sum(of['bytes'].values()) / of['events']:.2f}" for of in traces.values()]
    return [
        "The parts of an event, in bytes per event (`bench/recorder/trace_columns.py`). *Which block*: the",
        "block that a free or realloc names. *New address*: mainly of blocks at an address where none of",
        "their size was just freed. The synthetic mix is the trace that reading is timed with below: the",
        "next site, the freed one of 2 million blocks, and the sizes of a third of the sites are random and",
        "cannot be compressed.",
        "",
        *markdown.table(["", *names.values()], [*rows, ["all", *sums]]),
    ]


def render(
    results: dict[str, Any],
    analysis: dict[str, Any] | None,
    large: dict[str, Any] | None,
    columns: dict[str, Any] | None,
) -> str:
    machine = results["machine"]
    rounds = 1 + max(r["round"] for r in results["runs"])
    lines = [
        "# Performance of the recorder",
        "",
        answer(results),
        "",
        "Made by `bench/recorder/render.py` from `bench/results/recorder.json` and "
        "`bench/results/analysis.json`; `make bench` measures again.",
        "",
        "<!-- figures: bench/results/recorder.json -->",
        *(["<!-- figures: bench/results/analysis.json -->"] if analysis else []),
        *(["<!-- figures: bench/results/analysis-large.json -->"] if large else []),
        *(["<!-- figures: bench/results/trace-columns.json -->"] if columns else []),
        "",
        sources.said(found for found in (results, analysis, large, columns) if found),
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
        "Wall time of the whole command, from its start to the prompt, including writing the trace and",
        "heaptrack's interpretation. The exception is cc1plus, whose file heaptrack 1.4.0 cannot interpret:",
        "there it only records (`--raw`).",
        "",
        *program_table(results),
        "## Size on disk",
        "",
        "An event is one call. heaptrack counts a realloc as two and stores neither times nor threads.",
        "",
        *size_table(results),
        *(columns_section(columns) if columns else []),
        *(analysis_section(analysis) if analysis else []),
        *(large_section(large) if large else []),
    ]
    return "\n".join(lines).rstrip() + "\n"


def read_if_there(path: Path) -> dict[str, Any] | None:
    return json.loads(path.read_text()) if path.exists() else None


def main() -> int:
    if not results_path.exists():
        print(f"{results_path} is missing; run 'make bench'", file=sys.stderr)
        return 2
    results = json.loads(results_path.read_text())
    further = map(read_if_there, (analysis_path, large_path, columns_path))
    return documents.give(document_path, render(results, *further))


if __name__ == "__main__":
    sys.exit(main())
