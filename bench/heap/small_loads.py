#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs one small load with each heap preloaded, in turns, and prints medians.

    small_loads.py LOAD [--turns N] [--output FILE] NAME=LIBRARY ...

The results are build/results/heap-LOAD.json; glibc's own heap runs without a library. The loads:

"""

import sys
from dataclasses import dataclass
from statistics import median
from typing import Any

from heapwright.measure.turns import turns
from preloaded import options_of, printed_by, written


@dataclass(frozen=True)
class Load:
    """A program of this folder with its cases; it prints its figures as words."""

    about: str  # what it shows, and where it may run
    program: str
    words: str  # of its command line, with the keys in braces
    keys: tuple[str, ...]
    cases: tuple[tuple[object, ...], ...]
    figures: tuple[str, ...]  # some cases print the first few only
    turns: int = 3
    # Values of HEAPWRIGHT_HEAP_MAINTENANCE that this heap runs with; none: it runs as it is.
    maintenance: tuple[str, ...] = ()


BOTH = ("calls", "thread")
AFTER_FREES = ("made_kib", "freed_kib", "after_2_s_kib", "after_5_s_kib", "after_10_s_kib", "floor_kib")

LOADS = {
    "across-threads": Load(
        "blocks that one thread makes and another frees; on an idle machine",
        "across_threads.cpp",
        "{load}",
        ("load",),
        (
            ("batches 1",),
            ("batches 4",),
            ("successors 2",),
            ("successors 16",),
            ("medium 2",),
            ("medium 16",),
        ),
        ("blocks_per_s", "cpu_ns", "peak_bytes"),
        turns=5,
    ),
    "fork-child": Load(
        "how much a fork's child grows that allocates what its parent's threads had freed; "
        "the time of a fork on an idle machine only",
        "fork_child.cpp",
        "{threads} 100",
        ("threads",),
        ((2,), (8,), (32,)),
        ("made_kib", "freed_kib", "child_kib", "child_made_kib", "fork_us"),
    ),
    "fork-wait": Load(
        "how long forks take while another thread's memory is given back; on an idle machine",
        "fork_wait.cpp",
        "{load} 5",
        ("load",),
        (("none",), ("huge",), ("mixed",), ("small",)),
        ("forks", "median_us", "p99_us", "longest_us"),
        turns=5,
    ),
    "give-back": Load(
        "how much stays after most was freed, and what giving it back costs; times are of each call, so "
        "on an idle machine",
        "give_back.cpp",
        "{way} {megabytes}",
        ("way", "megabytes"),
        tuple((way, size) for size in (491, 5000) for way in ("idle", "paced", "bursts")),
        (*AFTER_FREES, "p50_ns", "p999_ns", "p9999_ns", "max_ns"),
        maintenance=BOTH,
    ),
    "growing": Load(
        "memory of growing buffers with and without huge pages, where the kernel has them on request",
        "growing.cpp",
        "{huge_pages} {most_kib}",
        ("huge_pages", "most_kib"),
        tuple((setting, most) for most in (128, 256, 4096) for setting in ("0", "1", "auto")),
        ("filled_kib", "peak_kib", "faults"),
    ),
    "large-blocks": Load(
        "blocks of 1 to 32 MiB that come and go; CPU time bears a busy machine, page faults and peaks depend "
        "on how often memory was given back meanwhile",
        "large_blocks.cpp",
        "{live} 1000",
        ("live",),
        ((1,), (2,), (8,), (24,)),
        ("cpu_s", "faults", "peak_bytes"),
        turns=5,
    ),
    "many-threads": Load(
        "memory of 500 threads that come and go",
        "many_threads.cpp",
        "500 {most_bytes} {rounds}",
        ("most_bytes", "rounds"),
        ((200_000, 1), (2_000, 40)),
        ("writable_kib", "first_kib", "last_kib", "after_5_s_kib"),
        turns=5,
        maintenance=BOTH,
    ),
    "other-thread": Load(
        "memory where one thread makes blocks and sleeps, and others free them; times: on an idle machine",
        "other_thread.cpp",
        "400 {bytes} {next_bytes}",
        ("bytes", "next_bytes"),
        ((1000, 1000), (1000, 200), (64, 64)),
        (
            *("made_kib", "freed_kib", "next_kib", "after_0_s_kib", "after_2_s_kib", "after_5_s_kib"),
            *("after_10_s_kib", "free_ms", "make_ms"),
        ),
        maintenance=BOTH,
    ),
    "page-floor": Load(
        "what stays with an idle process after most was freed, beside the pages that hold a block; "
        "on a machine with 21 GB",
        "give_back.cpp",
        "idle {megabytes}",
        ("megabytes",),
        ((500,), (5000,), (12000,), (18000,)),
        AFTER_FREES,
        turns=1,
        maintenance=("thread",),
    ),
    "ratchet": Load(
        "memory where blocks grow from size to size, one of `keep` stays; CPU time: on an idle machine",
        "ratchet.cpp",
        "{sizes} {step_bytes} {megabytes} {keep}",
        ("sizes", "step_bytes", "megabytes", "keep"),
        ((176, 16, 21, 64), (176, 16, 62, 64), (176, 16, 7, 8), (176, 32, 21, 64)),
        ("live_kib", "peak_kib", "end_kib", "cpu_ms"),
    ),
    "silent": Load(
        "what stays with a silent process that is root, or was; run by root",
        "silent.cpp",
        "{what}",
        ("what",),
        (("root",), ("container",), ("nobody",), ("later",)),
        ("busy_kib", "after_0_s_kib", "after_2_s_kib", "after_5_s_kib", "after_10_s_kib"),
    ),
}


def measure(load: Load, program: Any, heaps: dict[str, str], rounds: int) -> list[dict[str, Any]]:
    arms = [
        (name, way) for name in heaps for way in (load.maintenance if name == "heapwright" else ()) or ("",)
    ]
    runs = []
    for turn, case, (name, way) in turns(rounds, list(load.cases), arms):
        named = dict(zip(load.keys, case, strict=True))
        variables = {"HEAPWRIGHT_HEAP_MAINTENANCE": way} if way else {}
        printed = printed_by(program, heaps[name], *load.words.format(**named).split(), **variables)
        figures = dict(zip(load.figures, map(float, printed.split()), strict=False))
        heap = f"{name}, {way}" if len(load.maintenance) > 1 and way else name
        runs.append({"heap": heap, **named, "turn": turn, **figures})
    return runs


def table(load: Load, runs: list[dict[str, Any]]) -> list[str]:
    """Medians, of what is called the longest or the most the largest; bytes in MiB."""
    rows = [[*load.keys, "heap", *map(_heading, load.figures)]]
    columns = (*load.keys, "heap")
    for case in dict.fromkeys(tuple(run[name] for name in columns) for run in runs):
        of = [run for run in runs if tuple(run[name] for name in columns) == case]
        rows.append([*map(str, case), *(_cell(name, of) for name in load.figures if name in of[0])])
    widths = [max(len(row[at]) for row in rows if at < len(row)) for at in range(len(rows[0]))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=False)) for row in rows]


def _heading(figure: str) -> str:
    return figure.removesuffix("_kib").removesuffix("_bytes")


def _cell(figure: str, runs: list[dict[str, Any]]) -> str:
    over = max if figure.startswith(("longest", "max")) else median
    value = over(run[figure] for run in runs)
    value /= {"kib": 1024, "bytes": 2**20}.get(figure.rsplit("_", 1)[-1], 1)
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def main() -> int:
    listed = "\n".join(f"    {name:15} {load.about}" for name, load in LOADS.items())
    name = sys.argv.pop(1) if len(sys.argv) > 1 and sys.argv[1] in LOADS else ""
    load = LOADS.get(name)
    options = options_of(f"{__doc__}{listed}", load.turns if load else 0, f"heap-{name}.json")
    if load is None:
        print(f"say first which load: {', '.join(LOADS)}", file=sys.stderr)
        return 2
    return written(
        options.output,
        load.program,
        lambda program: measure(load, program, options.heaps, options.turns),
        lambda runs: table(load, runs),
    )


if __name__ == "__main__":
    sys.exit(main())
