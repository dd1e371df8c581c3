#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes docs/heap-performance.md from bench/results/heap*.json; no figure in it is typed by hand.

Options as in bench/documents.py.
"""

import json
import math
import statistics
import sys
from pathlib import Path
from typing import Any

import loads
from heapwright.measure.statistics import Summary, summarize
from heapwright.report import markdown
from heapwright.report.units import three_digits as number

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import documents  # noqa: E402
import sources  # noqa: E402

document = project / "docs/heap-performance.md"
ours = "heapwright"
Samples = dict[str, dict[str, list[dict[str, Any]]]]


def samples_of(runs: list[dict[str, Any]]) -> Samples:
    """figures by load and allocator; of runs that fold, the last."""
    folding = {load.name for load in loads.loads if load.folds}
    found: Samples = {}
    for run in runs:
        if "figures" not in run:
            continue
        figures = found.setdefault(run["load"], {}).setdefault(run["allocator"], [])
        if run["load"] in folding:
            figures.clear()
        figures.append(run["figures"])
    return found


def value_of(row: loads.Row, figures: dict[str, Any]) -> float:
    value = figures[row.figure]
    if row.series:
        value = value[figures[row.series].index(row.series_at)]
    return float(value) * row.scale


def best_peer(figures: dict[str, Summary], higher: bool) -> str:
    peers = [name for name in figures if name not in (ours, loads.floor)]
    return (max if higher else min)(peers, key=lambda name: figures[name].median)


def verdict(row: loads.Row, own: Summary, ratio: float) -> tuple[str, bool]:
    """The goal in words, and whether it is met."""
    if row.at_most is not None:
        return f"≤ {row.at_most:g} {row.unit}".rstrip(), own.median <= row.at_most
    bound = row.at_most_of_best or 1.0
    if row.higher_is_better:
        return f"≥ {1 / bound:g} of best", ratio >= 1 / bound
    return f"≤ {bound:g} of best", ratio <= bound


def row_figures(row: loads.Row, samples: Samples) -> dict[str, Summary]:
    by_allocator = samples.get(row.load, {})
    return {name: summarize([value_of(row, f) for f in found]) for name, found in by_allocator.items()}


def render_rows(samples: Samples) -> tuple[list[str], list[str]]:
    body, missed = [], []
    for row in loads.rows:
        figures = row_figures(row, samples)
        if ours not in figures or len(figures) < 2:
            continue
        own, name = figures[ours], best_peer(figures, row.higher_is_better)
        peer = figures[name]
        ratio = own.median / peer.median if peer.median else math.inf
        goal, is_met = verdict(row, own, ratio)
        spread = f"{100 * max(own.relative_spread, peer.relative_spread):.0f} %"
        shown = [f"{number(own.median)} {row.unit}".rstrip(), f"{number(peer.median)} ({name})"]
        body.append([row.title, *shown, f"{ratio:.2f}", spread, goal, "yes" if is_met else "**no**"])
        if not is_met:
            missed.append(f"{row.title}: {shown[0]}, goal {goal}, best peer {shown[1]}")
    head = ["", "ours", "best peer", "ratio", "spread", "goal", "met"]
    return markdown.table(head, body), missed


def render_floors(samples: Samples) -> list[str]:
    body = []
    for row in loads.rows:
        figures = row_figures(row, samples)
        if loads.floor not in figures or ours not in figures:
            continue
        best = figures[best_peer(figures, row.higher_is_better)].median
        floor = figures[loads.floor].median
        values = [figures[ours].median, best, floor]
        shown = [f"{number(value)} {row.unit}" for value in values]
        body.append([row.title, *shown, f"{floor / best:.2f}", f"{row.at_most_of_best:g}"])
    if not body:
        return []
    return [
        "## The floor: a heap that does nothing",
        "",
        "The same loads with a bump-pointer `malloc` and a `free` that does nothing",
        "(`bench/heap/bump_pointer.cpp`). What remains is the page faults and the load's own work. Only a",
        "heap whose pages were populated by another CPU can be faster.",
        "",
        *markdown.table(["", "ours", "best peer", "nothing", "nothing / best", "goal"], body),
    ]


def geometric_mean(values: list[float]) -> float:
    return math.exp(statistics.fmean(math.log(value) for value in values))


def render_all_allocators(samples: Samples, allocators: list[str]) -> list[str]:
    body = []
    for row in loads.rows:
        figures = row_figures(row, samples)
        cells = [number(figures[name].median) if name in figures else "failed" for name in allocators]
        if figures:
            body.append([f"{row.title}, {row.unit}".rstrip(", "), *cells])
    return markdown.table(["", *allocators], body)


# What else runs only adds to a CPU time: 0.55 to 0.81 s of the same work were seen.
PROGRAM_FIGURES = (
    ("cpu_s", "CPU time, s", 1.0, min),
    ("load_s", "wall time of the load, s", 1.0, min),
    ("peak_bytes", "peak resident, MiB", 2**-20, statistics.median),
)
MEAN = "geometric mean, ours = 1"


def render_program_figure(
    samples: Samples, allocators: list[str], kind: tuple[str, str, float, Any]
) -> tuple[list[str], dict[str, float]]:
    """A row for each program that has the figure; and each allocator's geometric mean, ours = 1."""
    figure, title, scale, choose = kind
    body = []
    ratios: dict[str, list[float]] = {name: [] for name in allocators}
    for program, by_allocator in samples.items():
        values = {
            name: choose([float(f[figure]) * scale for f in found])
            for name, found in by_allocator.items()
            if figure in found[0]
        }
        if not values:
            continue
        shown = (number(values[a]) if a in values else "failed" for a in allocators)
        body.append([program.removeprefix("program_"), *shown])
        for name in values.keys() & ratios.keys() if ours in values else ():
            ratios[name].append(values[name] / values[ours])
    if not body:
        return [], {}
    means = {name: geometric_mean(found) for name, found in ratios.items() if found}
    body.append([MEAN, *(f"{means.get(name, math.nan):.3f}" for name in allocators)])
    return markdown.table([title, *allocators], body), means


def render_programs(path: Path) -> tuple[list[str], list[str]]:
    """The section, and a line for each allocator that is ahead of ours."""
    if not path.exists():
        return [], []
    found = json.loads(path.read_text(encoding="utf-8"))
    samples, machine = samples_of(found["runs"]), found["machine"]
    peers = [name for name in found["allocators"] if name != ours]
    lines = [
        "## Real programs",
        "",
        "The programs are unmodified Debian programs (`bench/heap/real_programs.py`) and servers under",
        "client load (`bench/heap/real_servers.py`). The tables show the least CPU time of the process and",
        "its children over all runs, since other work only adds to it, and the median peak of the largest",
        "process. Python runs with `PYTHONMALLOC=malloc`, PHP with `USE_ZEND_ALLOC=0`. redis's I/O threads",
        "spin while waiting, which is half of its CPU time: there the wall time of the load counts. The",
        "same run covers Debian's allocators and the newest releases, which `make bench-peers` builds.",
        "",
        f"{sources.said([found, *found.get('kept', [])])} Load average {machine['load_before']} before, "
        f"{machine['load_after']} after.",
        "",
    ]
    missed = []
    for kind in PROGRAM_FIGURES:
        for named in (lambda name: " " not in name, lambda name: " " in name):  # releases have their version
            some = [ours, *filter(named, peers)]
            table, means = render_program_figure(samples, some, kind)
            lines += table
            missed += [
                f"real programs, {kind[1].split(',')[0]}: {name} is at {mean:.3f} of ours"
                for name, mean in means.items()
                if mean < 1
            ]
    missed += sorted(
        {f"{run['allocator']} failed in {run['load']}" for run in found["runs"] if "failure" in run}
    )
    return lines, missed


def render_releases(path: Path) -> list[str]:
    """Optional: nobody needs cargo to measure the heap."""
    if not path.exists():
        return []
    found = json.loads(path.read_text(encoding="utf-8"))
    samples, allocators = samples_of(found["runs"]), found["allocators"]
    repetitions = max(run["repetition"] for run in found["runs"]) + 1
    return [
        "## Beside current releases",
        "",
        "A separate run with the newest packages in Rust's registry, built by `make bench-peers`:",
        f"`bench/heap/measure.py --releases`, up to {repetitions} runs of each load, load average "
        f"{found['machine']['load_before']} before. From producer to consumer, every heap takes two to four",
        "times as long while the host runs the two CPUs far apart ([the heap](heap.md#measurements)).",
        "Compare that row only within one table.",
        "",
        sources.said([found]),
        "",
        *render_all_allocators(samples, allocators),
    ]


def render(path: Path) -> str:
    found = json.loads(path.read_text(encoding="utf-8"))
    machine, allocators = found["machine"], found["allocators"]
    samples = samples_of(found["runs"])
    row_lines, missed = render_rows(samples)
    goals = sum(line.endswith(("| yes |", "| **no** |")) for line in row_lines)
    program_lines, missed_programs = render_programs(path.with_name("heap-programs.json"))
    failures = sorted(
        {f"{run['allocator']} failed in {run['load']}" for run in found["runs"] if "failure" in run}
    )
    lines = [
        "# Performance of the heap",
        "",
        f"The heap meets {goals - len(missed)} of its {goals} goals, most of them relative to the best other",
        "allocator in that row. [Below](#where-we-lose-or-miss-the-goal) are all rows where it does not.",
        "",
        "Every run is a separate process with the allocator preloaded, and the allocators take turns.",
        "Figures are medians; the spread is the median distance from them (ours or the peer's, whichever is",
        "larger). Intrinsic latencies are minima over several runs of the same operations, and have no",
        "spread. Lower is better, except for operations. The loads are those of [`heapwright lab`](lab.md)",
        "and `bench/heap/pairs.cpp`. `make bench-heap` measures, `bench/heap/render.py` writes this page.",
        "",
        sources.said([found]),
        "",
        f"Machine: {machine['cores']} cores, {machine['cpu']}, Linux {machine['kernel']}, {machine['libc']}; "
        f"load average {machine['load_before']} before, {machine['load_after']} after.",
        "",
        "## Beside the best peer of each row",
        "",
        *row_lines,
        *render_floors(samples),
        "## All allocators",
        "",
        *render_all_allocators(samples, allocators),
        *program_lines,
        *render_releases(path.with_name("heap-releases.json")),
        "## Where we lose or miss the goal",
        "",
        *(f"- {line}" for line in [*missed, *missed_programs, *failures]),
        *([] if missed or missed_programs or failures else ["Nowhere in this run."]),
    ]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    sys.exit(documents.give(document, render(project / "bench/results/heap.json")))
