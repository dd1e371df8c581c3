# SPDX-License-Identifier: MIT
"""docs/heap-performance.md, of bench/results/heap*.json, and what is kept of the single loads that
docs/heap.md and docs/decisions/0006-heap.md quote.
"""

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import documents
import loads
import trials
from heapwright.report import markdown
from heapwright.report.units import three_digits as number
from program_tables import PROGRAM_FIGURES, Figure, Samples, ours, render_programs, render_servers
from taken import Take, as_is, each, fields, figure, grouped


def last_of_folding(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those with figures; of runs that fold, the last."""
    folding = {load.name for load in loads.loads if load.folds}
    found: dict[tuple[str, str, int], dict[str, Any]] = {}
    for run in runs:
        if "figures" in run:
            turn = 0 if run["load"] in folding else run["repetition"]
            found[(run["load"], run["allocator"], turn)] = run
    return list(found.values())


def of_rows(run: dict[str, Any]) -> dict[str, Any]:
    """A run with the figures that the rows of its load show; of a series the point."""
    rows = (row for row in loads.rows if row.load == run["load"] and row.figure in run["figures"])
    return {**run, "figures": {key_of(row): point_of(row, run["figures"]) for row in rows}}


def of_programs(run: dict[str, Any]) -> dict[str, Any]:
    """A run with the figures that are shown of programs."""
    shown = (name for name, *_ in PROGRAM_FIGURES if name in run["figures"])
    return {**run, "figures": {name: run["figures"][name] for name in shown}}


def key_of(row: loads.Row) -> str:
    """A figure's name; a series' with the point."""
    return f"{row.figure} at {row.series_at:g}" if row.series else row.figure


def point_of(row: loads.Row, figures: dict[str, Any]) -> float:
    value = figures[row.figure]
    return float(value[figures[row.series].index(row.series_at)] if row.series else value)


def failed(runs: list[dict[str, Any]]) -> list[str]:
    """Each allocator and load that failed, once."""
    return sorted({f"{run['allocator']} failed in {run['load']}" for run in runs if "failure" in run})


def taken(choose: Callable[[dict[str, Any]], dict[str, Any]], kept: Take) -> Take:
    """Of a results file by load and allocator the figures that are shown."""

    def take(document: dict[str, Any]) -> dict[str, Any]:
        runs = document["runs"]
        known = [choose(run) for run in last_of_folding(runs)]
        flat = [{"load": run["load"], "allocator": run["allocator"], **run["figures"]} for run in known]
        return {
            **document,
            "repetitions": max(run["repetition"] for run in runs) + 1,
            "failed": failed(runs),
            "runs": grouped("load", "allocator", take=kept)(flat),
        }

    return take


def best_peer(figures: dict[str, Figure], higher: bool) -> str:
    peers = [name for name in figures if name not in (ours, loads.floor)]
    return (max if higher else min)(peers, key=lambda name: figures[name]["median"])


def verdict(row: loads.Row, own: Figure, ratio: float) -> tuple[str, bool]:
    """The goal in words, and whether it is met."""
    if row.at_most is not None:
        return f"≤ {row.at_most:g} {row.unit}".rstrip(), own["median"] <= row.at_most
    bound = row.at_most_of_best or 1.0
    if row.higher_is_better:
        return f"≥ {1 / bound:g} of best", ratio >= 1 / bound
    return f"≤ {bound:g} of best", ratio <= bound


def row_figures(row: loads.Row, samples: Samples) -> dict[str, Figure]:
    """Each allocator's figure in the row's unit."""
    return {
        name: {key: value * row.scale for key, value in found[key_of(row)].items()}
        for name, found in samples.get(row.load, {}).items()
    }


def relative_spread(figure: Figure) -> float:
    return figure["spread"] / abs(figure["median"]) if figure["median"] else 0.0


def render_rows(samples: Samples) -> tuple[list[str], list[str]]:
    body, missed = [], []
    for row in loads.rows:
        figures = row_figures(row, samples)
        if ours not in figures or len(figures) < 2:
            continue
        own, name = figures[ours], best_peer(figures, row.higher_is_better)
        peer = figures[name]
        ratio = own["median"] / peer["median"] if peer["median"] else math.inf
        goal, is_met = verdict(row, own, ratio)
        spread = f"{100 * max(map(relative_spread, (own, peer))):.0f} %"
        shown = [f"{number(own['median'])} {row.unit}".rstrip(), f"{number(peer['median'])} ({name})"]
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
        best = figures[best_peer(figures, row.higher_is_better)]["median"]
        floor = figures[loads.floor]["median"]
        values = [figures[ours]["median"], best, floor]
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


def render_all_allocators(samples: Samples, allocators: list[str]) -> list[str]:
    body = []
    for row in loads.rows:
        figures = row_figures(row, samples)
        cells = [number(figures[name]["median"]) if name in figures else "failed" for name in allocators]
        if figures:
            body.append([f"{row.title}, {row.unit}".rstrip(", "), *cells])
    return markdown.table(["", *allocators], body)


def render_releases() -> list[str]:
    """Optional: nobody needs cargo to measure the heap."""
    found = documents.read_if_there("heap-releases")
    if not found:
        return []
    samples, allocators = found["runs"], found["allocators"]
    return [
        "## Beside current releases",
        "",
        "A separate run with the newest packages in Rust's registry, built by `make bench-peers`:",
        f"`bench/heap/measure.py --releases`, up to {found['repetitions']} runs of each load, load average "
        f"{found['machine']['load_before']} before. From producer to consumer, every heap takes two to four",
        "times as long while the host runs the two CPUs far apart ([the heap](heap.md#measurements)).",
        "Compare that row only within one table.",
        "",
        documents.said([found]),
        "",
        *render_all_allocators(samples, allocators),
    ]


def render() -> str:
    found = documents.read("heap")
    machine, allocators = found["machine"], found["allocators"]
    samples = found["runs"]
    row_lines, missed = render_rows(samples)
    goals = sum(line.endswith(("| yes |", "| **no** |")) for line in row_lines)
    server_lines, missed_servers = render_servers()
    program_lines, missed_programs = render_programs()
    behind = [*missed_servers, *missed, *missed_programs, *found["failed"]]
    lines = [
        "# Performance of the heap",
        "",
        f"The heap meets {goals - len(missed)} of its {goals} goals, most of them relative to the best other",
        "allocator in that row. [Below](#where-we-lose-or-miss-the-goal) are all rows where it does not.",
        "",
        *server_lines,
        "## Single loads",
        "",
        "Every run is a separate process with the allocator preloaded, and the allocators take turns.",
        "Figures are medians; the spread is the median distance from them (ours or the peer's, whichever is",
        "larger). Intrinsic latencies are minima over several runs of the same operations, and have no",
        "spread. Lower is better, except for operations. The loads are those of [`heapwright lab`](lab.md)",
        "and `bench/heap/pairs.cpp`. `make bench-heap` measures, `bench/render.py` writes this page.",
        "",
        documents.said([found]),
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
        *render_releases(),
        "## Where we lose or miss the goal",
        "",
        *(f"- {line}" for line in behind),
        *([] if behind else ["Nowhere in this run."]),
    ]
    return "\n".join(lines).rstrip() + "\n"


of_ratios = figure("median", "spread", "runs")


def ratios(runs: list[dict[str, Any]]) -> dict[str, dict[str, dict[str, Figure]]]:
    """By load, figure and what the heap is without: the ratios to the whole heap, turn by turn."""
    names = [name for name in dict.fromkeys(run["allocator"] for run in runs) if name != trials.whole]
    found: dict[str, dict[str, dict[str, Figure]]] = {}
    for load in dict.fromkeys(run["load"] for run in runs):
        for shown, name in product(trials.figures_shown, names):
            values = list(trials.ratios(runs, load, name, shown))
            if values:
                found.setdefault(load, {}).setdefault(shown, {})[name] = figure("median", "spread", "runs")(
                    values
                )
    return found


def by(*keys: str) -> Take:
    """Of a single load's runs each field's figures."""
    runs = grouped(*keys, take=figure("median", "low", "high"))
    return lambda document: {**document, "turns": turns_of(document), "runs": runs(document["runs"])}


def of_misuses(runs: list[dict[str, Any]]) -> dict[str, dict[str, str]]:
    """By kind and heap, what became of the sizes one after the other."""
    found: dict[str, dict[str, list[str]]] = {}
    for run in runs:
        for heap in run.keys() - {"kind", "bytes"}:
            found.setdefault(run["kind"], {}).setdefault(heap, []).append(run[heap])
    return {kind: {heap: ", ".join(of[heap]) for heap in sorted(of)} for kind, of in found.items()}


def turns_of(document: dict[str, Any]) -> int:
    return 1 + max(int(run["turn"]) for run in document["runs"])


TAKEN = {
    "heap": taken(of_rows, figure("median", "spread")),
    "heap-releases": taken(of_rows, figure("median")),
    "heap-programs": taken(of_programs, figure("low", "median")),
    "heap-servers": taken(of_programs, figure("low", "median")),
    "heap-trials": fields({"runs": ratios}),
    "heap-across-threads": by("load", "heap"),
    "heap-fork-child": by("threads", "heap"),
    "heap-fork-wait": by("load", "heap"),
    "heap-give-back": by("way", "megabytes", "heap"),
    "heap-growing": by("huge_pages", "most_kib", "heap"),
    "heap-guard-cost": by("bytes", "written", "heap"),
    "heap-handover": by("heap"),
    "heap-hardened": by("threads", "heap"),
    "heap-huge-areas": as_is,
    "heap-huge-pages": by("memory", "asks", "heap"),
    "heap-large-blocks": by("live", "heap"),
    "heap-many-threads": by("most_bytes", "rounds", "heap"),
    "heap-lived-misuse": fields({"runs": of_misuses}),
    "heap-misuse": fields({"programs": len, "caught": each(len)}),
    "heap-other-thread": by("bytes", "next_bytes", "heap"),
    "heap-page-floor": by("megabytes", "heap"),
    "heap-shared-lines": as_is,
    "heap-silent": by("what", "heap"),
    "heap-ratchet": by("sizes", "step_bytes", "megabytes", "keep", "heap"),
}


def render_shared_lines() -> str:
    """Per call the lines that threads take from each other, and how many of these are one line."""
    found = documents.read_if_there("heap-shared-lines")
    if not found:
        return ""
    heaps = list(dict.fromkeys(run["heap"] for run in found["runs"]))
    rows: dict[tuple[str, int], list[str]] = {}
    for run in found["runs"]:
        rows.setdefault((run["load"], run["threads"]), []).append(f"{run['taken']:.2f}, {run['hottest']:.3f}")
    named = [[load, str(threads), *cells] for (load, threads), cells in rows.items()]
    return "\n".join(
        [
            *markdown.table(["load", "threads", *heaps], named, "l".ljust(2 + len(heaps), "r")),
            documents.said([found]),
        ]
    )


BLOCKS = [
    documents.whole("docs/heap-performance.md", render),
    documents.below("docs/heap.md", "heap-shared-lines", render_shared_lines),
]
