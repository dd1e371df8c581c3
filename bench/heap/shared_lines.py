#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Cache lines that a heap's calls take from other threads, counted, with up to 64 threads.

shared_lines.cpp's threads work in turns under valgrind's lackey, which writes every access. A model of caches
that hold all, one for each thread, counts the lines that one thread's calls take from another: a load of
what another stored last, a store to what others hold. No clock and no other work on the machine is in it, and
more threads than there are processors cost nothing. What it does not see: waits, retries, and the heap's own
threads. Ours has none under valgrind and would give back by its calls instead, so here it does neither.

The figure of the hottest line says how far a load can scale: each transfer takes about 100 ns, whatever the
number of processors, and one line makes one transfer at a time.

    shared_lines.py [NAME=LIBRARY ...]   writes build/results/heap-shared-lines.json
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).resolve().parent))
import preloaded

LOADS = ("pairs", "own", "next", "any", "large", "growing", "comes")
THREADS = (2, 16, 64)
LEAST_ROUNDS, COUNTED = 10, 2  # rounds of each thread; the last ones count
_LINE = 6  # bits of an address
Access = tuple[bool, bool, int]  # whether it loads, whether it stores, and where


class Layout(NamedTuple):
    """Of the program's own data, whose first lines are the markers."""

    begin: int
    end: int
    calls: int  # of a turn

    def is_own(self, address: int) -> bool:
        return self.begin <= address < self.end

    def marker(self, address: int) -> int:
        return (address - self.begin) >> _LINE


class Caches:
    """One of endless size for each thread."""

    def __init__(self) -> None:
        self._holders: dict[int, int] = {}  # of a line, a bit for each thread
        self._stored_by: dict[int, int] = {}  # the thread whose store no other has loaded yet
        self.taken: Counter[int] = Counter()  # by line

    def add(self, thread: int, access: Access) -> None:
        loads, stores, address = access
        line, own = address >> _LINE, 1 << thread
        holders = self._holders.get(line, 0)
        last = self._stored_by.get(line, thread)
        is_taken = (holders & ~own) != 0 if stores else last != thread and not holders & own
        self.taken[line] += is_taken
        if stores:
            self._holders[line] = own
            self._stored_by[line] = thread
        elif loads:
            self._holders[line] = holders | own


def accesses(lines: Iterator[str]) -> Iterator[Access]:
    """Of lackey's lines, without its instructions."""
    for line in lines:
        kind = line[1:2]
        if line[:1] == " " and kind in "LSM":
            yield kind != "S", kind != "L", int(line[3:].partition(",")[0], 16)


def counted(lines: Iterator[str], layout: Layout, threads: int, rounds: int) -> dict[str, float]:
    """What the last COUNTED rounds took, per heap call."""
    caches = Caches()
    thread, turns = -1, 0
    for access in accesses(lines):
        address = access[2]
        if not layout.is_own(address):
            if thread >= 0:
                caches.add(thread, access)
            continue
        marker = layout.marker(address)
        if not access[1] or marker >= 2 * threads:
            continue
        thread = -1 if marker % 2 else marker // 2
        turns += marker % 2
        if marker % 2 and turns == (rounds - COUNTED) * threads:
            caches.taken.clear()
    if turns != rounds * threads:
        raise SystemExit(f"only {turns} of {rounds * threads} turns were seen")
    calls = COUNTED * threads * layout.calls
    return {
        "taken": caches.taken.total() / calls,
        "hottest": max(caches.taken.values(), default=0) / calls,
    }


def layout_of(program: Path, load: str) -> Layout:
    """It is at the same place in each run."""
    begin, end, calls = preloaded.printed_by(program, "", load, 1, 1).split()
    return Layout(int(begin, 16), int(end, 16), int(calls))


def run(program: Path, library: str, load: str, threads: int) -> dict[str, float]:
    """Its accesses come through a pipe, without instructions: they are some 10 million."""
    layout, rounds = layout_of(program, load), LEAST_ROUNDS + COUNTED
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "accesses"
        os.mkfifo(log)
        tool = ["valgrind", "--tool=lackey", "--trace-mem=yes", "--basic-counts=no", f"--log-file={log}"]
        line = [*tool, str(program), load, str(threads), str(rounds)]
        environment = {**os.environ, "LD_PRELOAD": library, "HEAPWRIGHT_HEAP_MAINTENANCE": "manual"}
        with (
            subprocess.Popen(line, env=environment, stdout=subprocess.DEVNULL),
            subprocess.Popen(["grep", "-v", "^I", str(log)], stdout=subprocess.PIPE, text=True) as kept,
        ):
            assert kept.stdout
            return counted(iter(kept.stdout), layout, threads, rounds)


def measured(program: Path, heaps: dict[str, str]) -> preloaded.Runs:
    found: preloaded.Runs = []
    for load, threads, (heap, library) in product(LOADS, THREADS, heaps.items()):
        figures = run(program, library, load, threads)
        row: dict[str, Any] = {"turn": 0, "load": load, "threads": threads, "heap": heap}
        found.append({**row, **figures})
        print(load, threads, heap, figures, flush=True)
    return found


def table(runs: preloaded.Runs) -> list[str]:
    heaps = list(dict.fromkeys(run["heap"] for run in runs))
    head = f"{'load':10}{'threads':>8}  "
    lines = ["lines taken per call, of these the hottest", head + "".join(f"{heap:>16}" for heap in heaps)]
    for load in LOADS:
        for threads in THREADS:
            of = {run["heap"]: run for run in runs if (run["load"], run["threads"]) == (load, threads)}
            cells = (f"{of[heap]['taken']:9.3f} {of[heap]['hottest']:6.3f}" for heap in heaps)
            lines.append(f"{load:10}{threads:8}  {''.join(cells)}")
    return lines


def main() -> int:
    options = preloaded.options_of(__doc__, 1, "heap-shared-lines.json")
    return preloaded.written(
        options.output,
        "shared_lines.cpp",
        lambda program: measured(program, options.heaps),
        table,
        flags=["-no-pie", "-rdynamic"],
        turns=1,
    )


if __name__ == "__main__":
    sys.exit(main())
