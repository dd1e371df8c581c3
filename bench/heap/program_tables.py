# SPDX-License-Identifier: MIT
"""The sections of docs/heap-performance.md about real servers and programs."""

import math
import statistics
from typing import Any, NamedTuple

import documents
from heapwright.report import markdown
from heapwright.report.units import three_digits as number

ours = "heapwright"
Figure = dict[str, float]
Samples = dict[str, dict[str, dict[str, Figure]]]  # by load, allocator and name


def geometric_mean(values: list[float]) -> float:
    return math.exp(statistics.fmean(math.log(value) for value in values))


class ProgramFigure(NamedTuple):
    """A figure that tables of programs show. choose: which statistic; scale: to the title's unit."""

    name: str
    title: str
    scale: float
    choose: str


# What else runs only adds to a CPU time: 0.55 to 0.81 s of the same work were seen.
PROGRAM_FIGURES = (
    ProgramFigure("cpu_s", "CPU time, s", 1.0, "low"),
    ProgramFigure("load_s", "wall time of the load, s", 1.0, "low"),
    ProgramFigure("peak_bytes", "peak resident, MiB", 2**-20, "median"),
)
MEAN = "geometric mean, ours = 1"


def render_program_figure(
    samples: Samples, allocators: list[str], kind: ProgramFigure
) -> tuple[list[str], dict[str, float]]:
    """A row for each program that has the figure; and each allocator's geometric mean, ours = 1."""
    body = []
    ratios: dict[str, list[float]] = {name: [] for name in allocators}
    for program, by_allocator in samples.items():
        values = {
            name: found[kind.name][kind.choose] * kind.scale
            for name, found in by_allocator.items()
            if kind.name in found
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
    return markdown.table([kind.title, *allocators], body), means


def means_ahead(what: str, means: dict[str, float], kind: ProgramFigure) -> list[str]:
    """A line for each allocator that is ahead of ours in the mean."""
    return [
        f"{what}, {kind.title.split(',')[0]}: {name} is at {mean:.3f} of ours"
        for name, mean in means.items()
        if mean < 1
    ]


def render_whole_tables(found: dict[str, Any], what: str) -> tuple[list[str], list[str]]:
    """A table for each figure with every heap, and a line for each heap that is ahead of ours in the mean."""
    lines, ahead = [], []
    for kind in PROGRAM_FIGURES:
        table, means = render_program_figure(found["runs"], found["allocators"], kind)
        lines += table
        ahead += means_ahead(what, means, kind)
    return lines, [*ahead, *found["failed"]]


def where_measured(found: dict[str, Any]) -> str:
    """The revision, and how busy the machine was."""
    machine = found["machine"]
    said = documents.said([found, *found.get("kept", [])])
    return f"{said} Load average {machine['load_before']} before, {machine['load_after']} after."


def render_programs() -> tuple[list[str], list[str]]:
    """The section, and a line for each allocator that is ahead of ours."""
    found = documents.read_if_there("heap-programs")
    if not found:
        return [], []
    tables, ahead = render_whole_tables(found, "real programs")
    lines = [
        "## Real programs",
        "",
        "Unmodified programs of Debian (`bench/heap/real_programs.py`), with the figures and heaps of the",
        "servers above. Python runs with `PYTHONMALLOC=malloc`, PHP with `USE_ZEND_ALLOC=0`.",
        "",
        where_measured(found),
        "",
        *tables,
    ]
    return lines, ahead


# A server's peak may be this many times that of the leanest of these, and of glibc.
LEAN_PEERS, LEAN_GOAL, C_LIBRARY_GOAL = ("jemalloc", "tcmalloc", "mimalloc"), 1.05, 1.15


def is_lean_peer(name: str) -> bool:
    """Whether it is a version of one of the three that count as lean."""
    return name.split(" ")[0] in LEAN_PEERS


def render_server(of_heap: dict[str, dict[str, Figure]]) -> tuple[list[str], bool]:
    """A server's cells of the first table, and whether its peak meets both goals."""
    peaks = {heap: found["peak_bytes"]["median"] / 2**20 for heap, found in of_heap.items()}
    spent = "cpu_s" if "cpu_s" in of_heap[ours] else "load_s"
    times = {heap: found[spent]["low"] for heap, found in of_heap.items()}
    lean = min(filter(is_lean_peer, peaks), key=peaks.__getitem__)
    fastest = min((heap for heap in times if heap != ours), key=times.__getitem__)
    to_lean, to_glibc = peaks[ours] / peaks[lean], peaks[ours] / peaks["glibc"]
    met = to_lean <= LEAN_GOAL and to_glibc <= C_LIBRARY_GOAL
    return [
        f"{number(peaks[ours])} MiB",
        f"{number(peaks[lean])} ({lean})",
        f"{to_lean:.2f}",
        f"{number(peaks['glibc'])}",
        f"{to_glibc:.2f}",
        "yes" if met else "**no**",
        f"{number(times[ours])} s",
        f"{number(times['glibc'])}",
        f"{number(times[fastest])} ({fastest})",
        f"{times[ours] / times[fastest]:.2f}",
    ], met


def render_servers() -> tuple[list[str], list[str]]:
    """The first section, and a line for each server or heap where ours is behind."""
    found = documents.read_if_there("heap-servers")
    if not found:
        return [], []
    body, missed = [], []
    for load, of_heap in found["runs"].items():
        name = load.removeprefix("program_")
        if ours not in of_heap or "glibc" not in of_heap or not any(map(is_lean_peer, of_heap)):
            continue
        cells, met = render_server(of_heap)
        body.append([name, *cells])
        if not met:
            missed.append(f"{name}, peak: {cells[2]} of the leanest, {cells[4]} of glibc")
    head = ["", "peak", "leanest of three", "ratio", "glibc", "ratio", "goal met"]
    head += ["time", "glibc", "fastest", "ratio"]
    tables, ahead = render_whole_tables(found, "real servers")
    lines = [
        "## Real servers",
        "",
        "Unmodified servers and interpreters of Debian under client load or with many threads",
        "(`bench/heap/real_servers.py`, `bench/heap/threaded_servers.py`), beside "
        f"{len(found['allocators']) - 1} heaps.",
        "The peak is the median of the largest process, the time the least CPU time of the process and its",
        "children over all runs, since other work only adds to it. redis's I/O threads spin while waiting,",
        "which is half of their CPU time: there the wall time of the load counts. Goal for the peak: at most",
        f"{LEAN_GOAL:g} of the leanest of jemalloc, tcmalloc and mimalloc (any version here) and at most",
        f"{C_LIBRARY_GOAL:g} of glibc. `make bench-peers` builds the newest releases.",
        "",
        where_measured(found),
        "",
        *markdown.table(head, body),
        *tables,
    ]
    return lines, [*missed, *ahead]
