# SPDX-License-Identifier: MIT
"""What candidates ask of the kernel: by kind, said where it differs much, unknown where it is unknown."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from heapwright.cli import run_command
from heapwright.measure.allocators import Allocator
from heapwright.measure.runner import Arm
from heapwright.replay import kernel, kernel_words
from replay_documents import document_of
from written_traces import FREE, MALLOC, MadeTrace


def arm(*runs: dict[str, float], failure: str = "") -> Arm:
    return Arm(Allocator("x", "1", ""), False, list(runs), failure)


def memory(maps: int, other: int = 0) -> dict[str, float]:
    return {"faults": 7, "mmap_calls": maps, "mmap_ns": 500 * maps, "other_calls": other, "other_ns": 0}


TIME = {"voluntary_switches": 3, "involuntary_switches": 1}


def candidate(name: str, *runs: dict[str, float]) -> dict[str, Any]:
    return {"name": name, "kernel": kernel.of_arms(arm(*runs), arm(TIME))}


def test_each_figure_has_its_spread() -> None:
    found = kernel.of_arms(arm(memory(10), memory(30), memory(20)), arm(TIME))
    assert found is not None
    assert asdict(found)["system_calls"]["mmap"]["calls"] == {"median": 20, "low": 10, "high": 30}
    assert asdict(found)["system_calls"]["mmap"]["ns"]["median"] == 10_000
    assert found.faults.median == 7
    assert found.voluntary_switches.median == 3
    assert kernel.total(found) == 20


def test_what_the_kernel_cannot_tell_or_failed_is_unknown() -> None:
    found = kernel.of_arms(arm({"faults": 7}), arm(TIME))
    assert found is not None and found.system_calls is None
    assert kernel.total(found) is None
    assert kernel.of_arms(arm(memory(1), failure="crashed: SIGSEGV"), arm(TIME)) is None
    document = {"candidates": [{"name": "a", "kernel": found}, candidate("b", memory(90_000))]}
    assert kernel_words.about(document_of(document)) == []


def test_only_many_more_or_fewer_are_said() -> None:
    document = {"candidates": [candidate("a", memory(2000, 4000))]}
    for name, calls in (("few", 100), ("like", 4000), ("many", 50_000), ("nearly", 11_000)):
        document["candidates"].append(candidate(name, memory(calls)))
    assert kernel_words.about(document_of(document)) == [
        "System calls of the heap calls: a 6,000 (1.00 ms, mostly other), few 100 (50.0 µs, mostly mmap), "
        "many 50,000 (25.0 ms, mostly mmap)."
    ]
    small = {"candidates": [candidate("a", memory(10)), candidate("b", memory(900))]}
    assert kernel_words.about(document_of(small)) == []


def test_kinds_that_nobody_asks_for_are_left_out() -> None:
    rows = kernel_words.rows(
        document_of({"candidates": [candidate("a", memory(5)), candidate("b", memory(6))]})
    )
    assert [(row["kind"], row["candidate"], row["calls"]) for row in rows[:3]] == [
        ("mmap", "a", 5),
        ("mmap", "b", 6),
        ("page faults", "a", 7),
    ]


def test_a_block_that_glibc_maps_is_a_mmap_and_a_munmap(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = MadeTrace().meta("program", "/opt/x").meta("allocator", "glibc 2.36 (/lib/libc.so.6)")
    for number in range(20):
        made.event(MALLOC, 0x1000_0000 * (number + 1), 1 << 20)
    for number in range(20):
        made.event(FREE, 0x1000_0000 * (number + 1))
    file = str(made.write(tmp_path / "large.heapwright"))
    words = ["replay", file, "--on", "glibc", "--runs", "2", "--idle", "0", "--anyway"]
    assert run_command([*words, "--json"]) == 0
    asked = json.loads(capsys.readouterr().out)["candidates"][0]["kernel"]
    if asked["system_calls"] is None:
        pytest.skip("needs Linux 5.11")
    assert asked["system_calls"]["mmap"]["calls"] == {"median": 20, "low": 20, "high": 20}
    assert asked["system_calls"]["munmap"]["calls"]["median"] == 20
    assert asked["faults"]["median"] >= 20 * 256
    assert run_command([*words, "--kernel", "--md"]) == 0
    said = capsys.readouterr().out
    assert "| kernel | allocator | times | takes |" in said
    assert "| munmap | glibc | 20 |" in said
