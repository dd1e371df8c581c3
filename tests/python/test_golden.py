# SPDX-License-Identifier: MIT
# length: one trace, and the answer to each question
"""explain --json of a trace whose every figure was worked out by hand.

The calls, two threads, times in ns. P, S, M and A are the sites parse, serve,
main and map; live: requested bytes after the call; * a temporary.

 #  thread  begin   took  call                        site  live   what it shows
 1  main    16000    160  malloc 100 (104) at 1000     P     100
 2  main    32000    320  malloc 1000 (1008) at 2000   S    1100   never freed
 3  main    48000     80  free 1000                         1000   lived 48000 - 16160 = 31840
 4  main    64000    160  malloc 50 (56) at 3000       P    1050
 5  main    80000     80  free 3000                         1000 * lived 80000 - 64160 = 15840
 6  worker  96000    240  calloc 200 (200) at 4000     S    1200
 7  main   112000    400  free 4000                         1000   by another thread; 112000 - 96240 = 15760
 8  worker 128000    160  malloc 64 (64) at 5000       P    1064
 9  worker 144000    640  realloc 5000 -> 6000, 128    S    1128   moved, 64 copied; 144000 - 128160 = 15840
10  worker 160000    320  realloc 6000 -> 6000, 256    S    1256   in place (264); 160000 - 144640 = 15360
11  worker 176000     80  free 6000                         1000 * lived 176000 - 160320 = 15680
12  main   192000    480  aligned_alloc 4096 at 8000   M    5096   never freed
13  main   208000   1000  malloc of 1 TiB              P           fails
14  main   224000   2000  mmap 8192                    A
15  main   240000   1000  munmap 4096 of it
16  main   256000     16  free NULL
17  worker 272000     80  free 999000                              not in the trace
18  main   288000    160  new 24 (24) at a000          P    5120   the peak, at 288160
19  main   304000     80  sized delete a000, as 32          5096 * wrong size; 304000 - 288160 = 15840

Allocations: 1 2 4 6 8 9 10 12 18. Releases: 3 5 7 9 10 11 17 19 (9 and 10: the old sides).
Requested 100 + 1000 + 50 + 200 + 64 + 128 + 256 + 4096 + 24 = 5918; usable is 4 + 8 + 6 + 8 = 26 more.
Time: 160+320+80+160+80+240+400+160+640+320+80+480+1000+2000+1000+16+80+160+80 = 7456.
Both threads live from 0 to the end at 1,000,000: 2,000,000 ns of threads' time.

       calls  bytes  over  freed  lifetimes                      temporary  allocating  freeing
 P         4    238    10      4  31840 + 3 x 15840 = 79360              2         640      240
 S         4   1584    16      3  15760 + 15360 + 15680 = 46800          1        1520      480
 M         1   4096     0      0                                         0         480        0
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import heapwright
import pytest
from heapwright import explain
from written_traces import CALLOC, FREE, MALLOC, NEW, REALLOC, Command, MadeTrace

ALIGNED_ALLOC, DELETE_SIZED, MMAP, MUNMAP = 6, 37, 80, 81
MAIN, PARSE, SERVE, MAP = 1, 2, 3, 4
M, P, S, A = ({"name": f"app+0x{number}000"} for number in (1, 2, 3, 4))


def golden_trace() -> MadeTrace:
    made = MadeTrace(end="end 1 0 1000000")
    made.meta("program", "/opt/app").meta("command", "/opt/app --serve")
    made.line("module", 0x400000, 0x500000, 0x400000, "/opt/app", "aabb")
    made.line("thread", 0, 100, "main", 0, 0).line("thread", 1, 101, "worker", 0, 0)
    for pc in (0x401000, 0x402000, 0x403000, 0x404000):
        made.line("frame", pc, 0)
    for parent, frame in ((0, 0), (1, 1), (1, 2), (1, 3)):
        made.line("stack", parent, frame)
    made.event(MALLOC, 0x1000, 100, usable=104, stack=PARSE, at=16000, took=160)
    made.event(MALLOC, 0x2000, 1000, usable=1008, stack=SERVE, at=32000, took=320)
    made.event(FREE, 0x1000, at=48000, took=80)
    made.event(MALLOC, 0x3000, 50, usable=56, stack=PARSE, at=64000, took=160)
    made.event(FREE, 0x3000, at=80000, took=80)
    made.event(CALLOC, 0x4000, 200, usable=200, stack=SERVE, thread=1, at=96000, took=240)
    made.event(FREE, 0x4000, at=112000, took=400)
    made.event(MALLOC, 0x5000, 64, usable=64, stack=PARSE, thread=1, at=128000, took=160)
    made.event(REALLOC, 0x6000, 128, usable=128, old=0x5000, stack=SERVE, thread=1, at=144000, took=640)
    made.event(REALLOC, 0x6000, 256, usable=264, old=0x6000, stack=SERVE, thread=1, at=160000, took=320)
    made.event(FREE, 0x6000, thread=1, at=176000, took=80)
    made.event(ALIGNED_ALLOC, 0x8000, 4096, usable=4096, stack=MAIN, at=192000, took=480)
    made.event(MALLOC, 0, 1 << 40, stack=PARSE, at=208000, took=1000)
    made.event(MMAP, 0x7F0000000000, 8192, usable=0, stack=MAP, at=224000, took=2000)
    made.event(MUNMAP, 0x7F0000000000, 4096, usable=0, stack=MAP, at=240000, took=1000)
    made.event(FREE, 0, at=256000, took=16)
    made.event(FREE, 0x999000, thread=1, at=272000, took=80)
    made.event(NEW, 0xA000, 24, usable=24, stack=PARSE, at=288000, took=160)
    made.event(DELETE_SIZED, 0xA000, 32, usable=0, at=304000, took=80)
    return made.line("memory", 100_000, 20_000, 3_000, 0, 70_000, 500)


SUMMARY = {
    "program": "/opt/app", "duration_ns": 1_000_000, "threads": 2, "temporaries": 3,
    "live_at_end_bytes": 5096, "live_at_end_blocks": 2, "allocator_share": 7456 / 2_000_000,
    "totals": {
        "events": 19, "allocations": 9, "releases": 8, "reallocs": 2, "failed": 1, "null_frees": 1,
        "requested_bytes": 5918, "usable_bytes": 5944, "unknown_releases": 1, "reused_live_addresses": 0,
        "mapped_bytes": 8192, "unmapped_bytes": 4096, "zero_size": 0, "allocator_ns": 7456,
        "span_ns": 984_000, "size_mismatches": 1,
    },
    "peak": {"time_ns": 288_160, "live_bytes": 5120, "live_usable_bytes": 5128, "live_blocks": 3},
    # 2640 and 1000: the failed malloc is no allocation of a block, but its call took time too
    "allocation_latency": {"calls": 10, "sum_ns": 3640, "max_ns": 1000},
    "release_latency": {"calls": 7, "sum_ns": 816, "max_ns": 400},
}  # fmt: skip

ANSWERS: dict[str, Any] = {
    "peak": {
        "time_ns": 288_160, "live_bytes": 5120, "live_usable_bytes": 5128, "live_blocks": 3,
        "sites": [
            {**M, "live_bytes": 4096, "live_blocks": 1, "share": 0.8},
            {**S, "live_bytes": 1000, "live_blocks": 1, "share": 1000 / 5120},
            {**P, "live_bytes": 24, "live_blocks": 1, "share": 24 / 5120},
        ],
    },
    "leaks": {
        "live_bytes": 5096, "live_blocks": 2, "share_of_peak": 5096 / 5120,
        "sites": [
            {**M, "live_bytes": 4096, "live_blocks": 1, "share": 4096 / 5096, "share_of_allocations": 1.0},
            {**S, "live_bytes": 1000, "live_blocks": 1, "share": 1000 / 5096, "share_of_allocations": 0.25},
        ],
    },
    "held": {
        "not_known": "no snapshot was taken: record with --snapshot end", "blocks": 0, "lost_blocks": 0,
        "lost": [], "holders": [], "held": [],
    },
    # No slope is sure. M comes once and stays; S holds 1000 nearly from the start; P comes and goes three times.
    "growth": {
        "limit_bytes": 0, "used_bytes": 20_000 + 500, "growth_bytes_per_s": 0, "to_limit_ns": -1,
        "sites": [
            {**M, "kind": "steady", "is_sure": False, "bytes_at_begin": 4096, "bytes_at_end": 4096, "leak_sign": ""},
            {**S, "kind": "warm-up", "bytes_at_end": 1000, "blocks_at_end": 1, "mean_usable_at_begin": 1008},
            {**P, "kind": "sawtooth", "bytes_at_begin": 100, "bytes_at_end": 0, "blocks_at_begin": 1, "blocks_at_end": 0},
        ],
    },
    "volume": {
        "bytes": 5918,
        "sites": [
            {**M, "bytes": 4096, "share": 4096 / 5918, "allocations": 1, "mean_bytes": 4096},
            {**S, "bytes": 1584, "share": 1584 / 5918, "allocations": 4, "mean_bytes": 396},
            {**P, "bytes": 238, "share": 238 / 5918, "allocations": 4, "mean_bytes": 59},
        ],
    },
    "calls": {
        "allocations": 9,
        "sites": [
            {**P, "allocations": 4, "share": 4 / 9, "bytes": 238, "mean_lifetime_ns": 19_840},
            {**S, "allocations": 4, "share": 4 / 9, "bytes": 1584, "mean_lifetime_ns": 15_600},
            {**M, "allocations": 1, "share": 1 / 9, "bytes": 4096, "mean_lifetime_ns": None},
        ],
    },
    "temporaries": {
        "temporaries": 3, "share": 3 / 9,
        "sites": [
            {**P, "temporaries": 2, "share_of_site": 0.5, "time_ns": 880},
            {**S, "temporaries": 1, "share_of_site": 0.25, "time_ns": 2000},
        ],
    },
    "time": {
        "allocator_ns": 7456, "thread_time_ns": 2_000_000, "share": 7456 / 2_000_000,
        "sites": [
            {**S, "time_ns": 2000, "share": 2000 / 7456, "mean_allocation_ns": 380, "mean_release_ns": 160},
            {**P, "time_ns": 880, "share": 880 / 7456, "mean_allocation_ns": 160, "mean_release_ns": 60},
            {**M, "time_ns": 480, "share": 480 / 7456, "mean_allocation_ns": 480, "mean_release_ns": 0},
        ],
    },
    "latency": {
        "by_function": [
            {"function": "mmap", "calls": 1, "latency": {"calls": 1, "sum_ns": 2000, "max_ns": 2000}},
            {"function": "malloc", "calls": 5, "latency": {"calls": 5, "sum_ns": 1800, "max_ns": 1000}},
            {"function": "munmap", "calls": 1, "latency": {"calls": 1, "sum_ns": 1000, "max_ns": 1000}},
            {"function": "realloc", "calls": 2, "latency": {"calls": 2, "sum_ns": 960, "max_ns": 640}},
            {"function": "free", "calls": 6, "latency": {"calls": 6, "sum_ns": 736, "max_ns": 400}},
            {"function": "aligned_alloc", "calls": 1, "latency": {"calls": 1, "sum_ns": 480, "max_ns": 480}},
            {"function": "calloc", "calls": 1, "latency": {"calls": 1, "sum_ns": 240, "max_ns": 240}},
            {"function": "operator new", "calls": 1, "latency": {"calls": 1, "sum_ns": 160}},
            {"calls": 1, "latency": {"calls": 1, "sum_ns": 80, "max_ns": 80}},
        ],
        "by_site": [
            {**S, "latency": {"calls": 4, "sum_ns": 1520, "max_ns": 640}},
            {**P, "latency": {"calls": 4, "sum_ns": 640, "max_ns": 160, "p50_ns": 160, "p99_ns": 160}},
            {**M, "latency": {"calls": 1, "sum_ns": 480, "max_ns": 480}},
        ],
    },
    "slow_calls": {
        "calls_over": 0, "duration_ns": 0, "kernel_events": "not in traces of this old version", "causes": [], "patterns": [],
        "calls": [
            {**A, "begin_ns": 224_000, "duration_ns": 2000, "kind": "mmap", "thread": 0, "size_bytes": 8192},
            {**P, "begin_ns": 208_000, "duration_ns": 1000, "kind": "malloc", "size_bytes": 1 << 40},
            {**A, "begin_ns": 240_000, "duration_ns": 1000, "kind": "munmap", "size_bytes": 4096},
            {**S, "begin_ns": 144_000, "duration_ns": 640, "kind": "realloc", "thread": 1, "size_bytes": 128},
        ],
    },
    "page_faults": {
        "not_seen": "not in traces of this old version", "minor_faults": 0, "again_of_heap": 0, "sites": [],
    },
    "sizes": {
        "classes": [
            {"from_bytes": 16, "to_bytes": 31, "allocations": 1, "bytes": 24, "live_at_peak_bytes": 24},
            {"from_bytes": 32, "to_bytes": 63, "allocations": 1, "bytes": 50, "overhead_bytes": 6},
            {"from_bytes": 64, "to_bytes": 127, "allocations": 2, "bytes": 164, "overhead_bytes": 4},
            {"from_bytes": 128, "to_bytes": 255, "allocations": 2, "bytes": 328, "overhead_bytes": 0},
            {"from_bytes": 256, "to_bytes": 511, "allocations": 1, "bytes": 256, "overhead_bytes": 8},
            {"from_bytes": 512, "allocations": 1, "bytes": 1000, "live_at_peak_blocks": 1},
            {"from_bytes": 4096, "allocations": 1, "bytes": 4096, "share": 1 / 9, "live_at_peak_bytes": 4096},
        ],
        # P: 24, 50, 64, 100; S: 128, 200, 256, 1000, whose bucket is 960 to 1023, of which 992 is the middle
        "sites": [
            {**P, "allocations": 4, "min_bytes": 24, "p50_bytes": 50, "p90_bytes": 100, "max_bytes": 100},
            {**S, "allocations": 4, "min_bytes": 128, "p50_bytes": 200, "p90_bytes": 992, "max_bytes": 1000},
            {**M, "allocations": 1, "min_bytes": 4096, "p50_bytes": 4096, "p90_bytes": 4096, "max_bytes": 4096},
        ],
    },
    "overhead": {
        "overhead_bytes": 26, "requested_bytes": 5918, "at_peak_bytes": 8, "share_at_peak": 8 / 5128,
        "sites": [
            {**S, "overhead_bytes": 16, "share_of_site": 16 / 1600, "mean_bytes": 4.0},
            {**P, "overhead_bytes": 10, "share_of_site": 10 / 248, "mean_bytes": 2.5},
        ],
    },
    "mappings": {
        "calls": 1, "mapped_bytes": 8192, "unmapped_bytes": 4096, "at_end_bytes": 4096,
        "sites": [
            {**A, "calls": 1, "mapped_bytes": 8192, "share": 1.0, "unmapped_bytes": 4096, "at_end_bytes": 4096}
        ],
    },
    "realloc": {
        "chains": 1, "steps": 2, "copied_bytes": 64,
        "sites": [
            {**S, "chains": 1, "steps": 2, "moved": 1, "copied_bytes": 64, "longest_steps": 2,
             "mean_final_bytes": 256, "moved_share": 0.5},
        ],
    },
    "cross_thread": {
        "blocks": 1, "bytes": 200, "share": 1 / 7,
        "pairs": [
            {"allocating_thread": 1, "allocating_name": "worker", "freeing_thread": 0, "freeing_name": "main",
             "blocks": 1, "bytes": 200},
        ],
        "sites": [{**S, "blocks": 1, "share_of_site": 1 / 3}],
    },
    "threads": {
        "count": 2,
        "threads": [
            {"name": "main", "allocations": 5, "releases": 4, "bytes": 5270, "allocator_ns": 5936,
             "temporaries": 2, "peak_live_bytes": 5120},
            {"name": "worker", "allocations": 4, "releases": 4, "bytes": 648, "allocator_ns": 1520,
             "temporaries": 1, "peak_live_bytes": 256},
        ],
    },
}  # fmt: skip

# Questions whose answers are checked apart, or are empty for such a trace.
APART = {"timeline", "lifetimes", "phases", "pools", "recorder", "residency", "cause", "advice"}


def holds(found: Any, expected: Any, where: str) -> None:
    """Every figure of `expected` is in `found`; lists agree in full length."""
    if isinstance(expected, dict):
        for key, value in expected.items():
            assert key in found, f"{where}.{key} is missing"
            holds(found[key], value, f"{where}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for number, value in enumerate(expected):
            holds(found[number], value, f"{where}[{number}]")
    else:
        assert found == (pytest.approx(expected) if isinstance(expected, float) else expected), where


@pytest.fixture
def document(command: Command, tmp_path: Path) -> Any:
    golden_trace().write(tmp_path / "golden.heapwright")
    said = command("explain", "golden.heapwright", "--json")
    assert said.code == 0, said.err
    return json.loads(said.out)


def test_every_figure_is_the_one_worked_out_by_hand(document: Any) -> None:
    assert set(explain.NAMES) - set(ANSWERS) <= APART
    holds(document["summary"], SUMMARY, "summary")
    slow = document["questions"]["slow_calls"]
    slow["calls"] = slow["calls"][:4]
    for name, answer in ANSWERS.items():
        holds(document["questions"][name], answer, name)


def test_the_course_and_the_lifetimes(document: Any) -> None:
    points = document["questions"]["timeline"]["points"]
    highest = max(points, key=lambda point: point["highest_live_bytes"])
    assert (highest["highest_live_bytes"], highest["usable_at_highest_bytes"]) == (5120, 5128)
    assert sum(point["allocations"] for point in points) == 9
    assert sum(point["releases"] for point in points) == 8
    assert sum(point["allocator_ns"] for point in points) == 7456
    last = {key: value for key, value in points[-1].items() if key.startswith(("live", "resident"))}
    assert last == {
        "live_bytes": 5096, "live_usable_bytes": 5104, "live_blocks": 2,
        "resident_bytes": 20_000, "resident_file_bytes": 3_000, "resident_shared_bytes": 500,
    }  # fmt: skip
    lifetimes = document["questions"]["lifetimes"]
    starts = lifetimes["lifetime_from_ns"]
    columns = [0] * (len(starts) + 1)
    for row in lifetimes["rows"]:
        columns = [sum(pair) for pair in zip(columns, row["blocks"], strict=True)]
    found = {**dict(zip(starts, columns, strict=False)), "live": columns[-1]}
    # Six blocks lived from 10 µs to 31.6 µs, one (31840 ns) longer, two to the end.
    assert {key: value for key, value in found.items() if value} == {10_000: 6, 31_600: 1, "live": 2}


def test_the_trace_is_as_the_table_says(tmp_path: Path) -> None:
    trace = heapwright.open(golden_trace().write(tmp_path / "golden.heapwright"))
    assert trace.event_count == 19
    assert [thread.name for thread in trace.threads] == ["main", "worker"]
