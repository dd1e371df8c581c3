# SPDX-License-Identifier: MIT
"""CPU time as the base of all shares, and what page faults on memory given back cost: made traces, by hand."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace as Made
from typing import Any

import pytest
from heapwright.explain import page_faults
from heapwright.explain.advice import refaults
from heapwright.explain.allocators import Allocator
from heapwright.explain.settings import keeping
from heapwright.model import KIND_NAMES, Filter
from test_explain import check, explained, made, printed
from written_traces import FREE, MALLOC, MadeTrace

PAGE = 4096
HEAP = 0x555500000000
MS = 1_000_000
TRIM, TAKE, GIVE = 1, 2, 3  # stacks
MALLOC_TRIM = KIND_NAMES.index("malloc_trim")


def with_sites() -> MadeTrace:
    trace = MadeTrace(end=f"end 1 0 {100 * MS}")
    trace.meta("allocator", "glibc 2.36 (/lib/libc.so.6)").meta("program", "/opt/app")
    trace.line("module", 0x400000, 0x500000, 0x400000, "/opt/app", "aabb")
    trace.line("thread", 0, 100, "main", 0, 0).line("thread", 1, 101, "idle", 0, 0)
    for pc in (0x401000, 0x402000, 0x403000):
        trace.line("frame", pc, 0)
    for parent, frame in ((0, 0), (1, 1), (1, 2)):
        trace.line("stack", parent, frame)
    return trace


def echo(trace: MadeTrace, rounds: int = 20, trims: bool = False) -> MadeTrace:
    """A buffer of 256 pages comes and goes; from the second time on, its pages are taken again."""
    for number in range(rounds):
        begin_ns = 160_000 + number * 4 * MS
        trace.event(MALLOC, HEAP + 16, 256 * PAGE, usable=256 * PAGE + 8, at=begin_ns, took=1600, stack=TAKE)
        if number:
            trace.line("refault", begin_ns + 2 * MS, HEAP // PAGE + 1, 255, 255 * 600, 1)
        trace.event(FREE, HEAP + 16, at=begin_ns + 3 * MS, took=160_000, stack=GIVE)
        if trims:
            trace.event(MALLOC_TRIM, 0, at=begin_ns + 3 * MS + 320_000, took=16_000, stack=TRIM)
    return trace


def used(trace: MadeTrace, cpu_ns: int, system_ns: int, faults: int, seen: int, again: int) -> MadeTrace:
    trace.meta("condition", "kernel_events\trecorded").line("processor", 0, 5 * MS, 1 * MS, 40, 0, 0, 0, 0, 0)
    return trace.line("processor", 100 * MS, cpu_ns + 5 * MS, system_ns + MS, faults + 40, 0, seen, seen * 600,
                      again, again * 600)  # fmt: skip


def document_of(trace: MadeTrace, path: Path) -> dict[str, Any]:
    document = explained(made(path, trace))
    check(document)
    return document


def test_shares_are_of_the_processes_cpu_time_and_not_of_sleep(tmp_path: Path) -> None:
    """10 ms of heap calls of 40 ms CPU time, in a run of two threads and 100 ms each."""
    trace = with_sites()
    for number in range(10):
        trace.event(MALLOC, 0x1000 + 64 * number, 10, at=16 * MS // 10 * (number + 1), took=MS, stack=TAKE)
    trace.used(40 * MS)
    document = document_of(trace, tmp_path)
    assert document["summary"]["cpu_ns"] == 40 * MS
    assert document["summary"]["thread_time_ns"] == 200 * MS
    assert document["summary"]["allocator_share"] == 0.25
    assert document["questions"]["time"]["share"] == 0.25
    assert document["questions"]["advice"]["allocator_share"] == 0.25
    assert document["questions"]["advice"]["run_ns"] == 40 * MS
    assert "25.0 % of CPU time" in " ".join(printed(document, 100).split())


def test_an_older_trace_falls_back_to_the_threads_time_and_says_so(tmp_path: Path) -> None:
    trace = with_sites().event(MALLOC, 0x1000, 10, at=16_000, took=50 * MS, stack=TAKE)
    document = document_of(trace, tmp_path)
    assert document["summary"]["cpu_ns"] == 0
    assert document["summary"]["allocator_share"] == 0.25
    assert "25.0 % of the threads' time" in " ".join(printed(document, 100).split())
    assert document["questions"]["page_faults"]["not_seen"] == "not in traces of this old version"


def test_chosen_threads_have_no_cpu_time_of_their_own(tmp_path: Path) -> None:
    trace = with_sites().event(MALLOC, 0x1000, 10, at=16_000, took=50 * MS, stack=TAKE).used(60 * MS)
    document = explained(made(tmp_path, trace), Filter(threads=(0,)))
    assert document["summary"]["cpu_ns"] == 0
    assert document["summary"]["allocator_share"] == 0.5


def test_memory_that_is_taken_again_is_told_with_both_sites_and_its_cost(tmp_path: Path) -> None:
    # 19 times 255 pages; 5000 faults took 4 ms of system time: 800 ns each.
    trace = used(echo(with_sites()), 10 * MS, 4 * MS, 5000, 5000, 19 * 255)
    document = document_of(trace, tmp_path)
    answer = document["questions"]["page_faults"]
    assert (answer["not_seen"], answer["minor_faults"], answer["again_of_heap"]) == ("", 5000, 19 * 255)
    assert answer["cost_each_ns"] == 800
    assert answer["again_of_heap_ns"] == 19 * 255 * 800
    [row] = answer["sites"]
    assert (row["name"], row["freed_by"]) == ("app+0x2000", "app+0x3000")
    assert (row["faults"], row["times"], row["given_back_by"]) == (19 * 255, 19, "the heap")
    text = " ".join(printed(document, 100).split())
    assert (
        "4,845 of 5,000 page faults took memory that had been given back: 3.88 ms, 38.8 % of CPU time; 19 times "
        "255 pages: the heap gives back in app+0x3000, app+0x2000 takes them again"
    ) in text
    first = document["questions"]["advice"]["advice"][0]
    assert (first["rule"], first["gain_ns"]) == ("refaults", 19 * 255 * 800)
    assert "MALLOC_TRIM_THRESHOLD_=4194304 MALLOC_MMAP_THRESHOLD_=4194304" in first["action"]
    assert first["when_not"][0] == "up to 4.00 MiB of free memory then stay resident at the heap's end"


def test_what_malloc_trim_gave_back_no_threshold_keeps(tmp_path: Path) -> None:
    """Both thresholds were advised to a program that trims after each batch: they changed nothing."""
    trace = used(echo(with_sites(), trims=True), 10 * MS, 4 * MS, 5000, 5000, 19 * 255)
    document = document_of(trace, tmp_path)
    [row] = document["questions"]["page_faults"]["sites"]
    assert (row["faults"], row["given_back_by"], row["freed_by"]) == (19 * 255, "malloc_trim", "app+0x1000")
    text = " ".join(printed(document, 100).split())
    assert "malloc_trim gives back in app+0x1000, app+0x2000 takes them again" in text
    assert "page faults took memory that malloc_trim had given back" in text
    first = document["questions"]["advice"]["advice"][0]
    assert (first["rule"], first["action"]) == ("refaults", "call malloc_trim less often, not 20 times")
    assert first["replay_set"] == ""
    assert first["action"] in text, "where no part is named, the first screen says what to do"


def test_faults_without_a_record_leave_the_verdict_unknown(tmp_path: Path) -> None:
    trace = used(echo(with_sites()), 10 * MS, 4 * MS, 5000, 1000, 255)
    document = document_of(trace, tmp_path)
    assert document["questions"]["page_faults"]["not_seen"] == (
        "4,000 of 5,000 have no record: they were in system calls, or records were lost"
    )
    found = [one["text"] for one in document["summary"]["findings"] if one["question"] == "advice"]
    assert any("unknown: page faults could not be seen" in text for text in found)


def processor(**figures: int) -> Any:
    known = dict.fromkeys(
        ("minor_faults", "major_faults", "system_ns", "seen_faults", "seen_fault_ns", "heap_refaults"), 0
    )
    return Made(facts=Made(processor=Made(**known | figures)), cpu_ns=10**12)


def test_a_fault_costs_no_more_than_the_kernel_spent_and_what_its_records_allow() -> None:
    assert page_faults.cost_each_ns(processor()) == 0
    assert page_faults.cost_each_ns(processor(minor_faults=1000, system_ns=2_000_000)) == 2000
    # The rest of the system time is of other system calls.
    server = processor(minor_faults=1000, system_ns=10**9, seen_faults=1000, seen_fault_ns=500_000)
    assert page_faults.cost_each_ns(server) == 2 * 500 + 300
    # Below a tick of the kernel's clock its share is not known.
    short = processor(minor_faults=100, seen_faults=100, seen_fault_ns=50_000)
    assert page_faults.cost_each_ns(short) == 500


@pytest.mark.parametrize(
    ("family", "settings", "said"),
    [
        (
            "jemalloc",
            {"MALLOC_CONF": "narenas:2,dirty_decay_ms:0"},
            "remove dirty_decay_ms:0 from MALLOC_CONF",
        ),
        ("jemalloc", {"MALLOC_CONF": "dirty_decay_ms:10000"}, ""),
        ("jemalloc", {"MALLOC_CONF": "muzzy_decay_ms:0"}, ""),
        ("mimalloc", {"MIMALLOC_RESET_DELAY": "0"}, "remove MIMALLOC_RESET_DELAY=0"),
        ("mimalloc", {}, ""),
        ("tcmalloc", {"TCMALLOC_AGGRESSIVE_DECOMMIT": "1"}, "remove TCMALLOC_AGGRESSIVE_DECOMMIT=1"),
        ("tcmalloc", {"TCMALLOC_AGGRESSIVE_DECOMMIT": "0"}, ""),
        ("heapwright", {"HEAPWRIGHT_HEAP_DECAY_MS": "0"}, "remove HEAPWRIGHT_HEAP_DECAY_MS=0"),
    ],
)
def test_the_setting_that_gives_memory_back_is_accused(
    family: str, settings: dict[str, str], said: str
) -> None:
    found = refaults.giving_back(Allocator(family, family, 0, settings))
    assert found.startswith(said) and bool(found) == bool(said)


def test_thresholds_hold_twice_what_was_in_use_and_fit_an_int() -> None:
    assert keeping(5 << 20) == (16 << 20, 16 << 20)
    assert keeping(0) == (1 << 20, 1 << 20)
    assert keeping(1 << 40) == (1 << 30, 32 << 20)


def test_a_block_above_the_highest_raised_threshold_is_kept_by_a_higher_one() -> None:
    """Frames of 40 MiB with a threshold of 32 MiB: 1.6 s as before; with 64 MiB 72 ms."""
    assert keeping(40 << 20, 40 << 20) == (128 << 20, 64 << 20)
    of: Any = Made(peak_bytes=40 << 20)
    new, old = (Allocator("glibc", f"glibc 2.{minor}", 8, {}) for minor in (36, 31))
    assert "MALLOC_MMAP_THRESHOLD_=67108864" in refaults._of_glibc(of, new, 40 << 20)[0]
    action, _ = refaults._of_glibc(of, old, 40 << 20)
    assert action.startswith("keep the blocks") and "THRESHOLD" not in action
    assert "MALLOC_MMAP_THRESHOLD_=33554432" in refaults._of_glibc(of, old, 0)[0]


def test_a_program_that_sets_thresholds_itself_is_told_to_change_its_calls() -> None:
    of: Any = Made(peak_bytes=5 << 20)
    own = Allocator("glibc", "glibc", 8, {"M_MMAP_THRESHOLD": "65536"})
    action, _ = refaults._of_glibc(of, own, 0)
    assert action.startswith("in the program, call mallopt(M_TRIM_THRESHOLD, 16777216)")
    around = Allocator("glibc", "glibc", 8, {"MALLOC_TOP_PAD_": "0"})
    assert refaults._of_glibc(of, around, 0)[0].endswith("(now MALLOC_TOP_PAD_=0)")
