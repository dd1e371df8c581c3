# SPDX-License-Identifier: MIT
"""Which call sites hold memory: sums by site, what lies in no block's pages, and what is said of it."""

from __future__ import annotations

import json
from array import array
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from heapwright.cli import run_command
from heapwright.measure.allocators import Allocator
from heapwright.measure.runner import Arm
from heapwright.model.sites import Site, Sites
from heapwright.model.symbols import Location
from heapwright.replay import held_memory
from heapwright.replay.site_words import about_memory
from replay_documents import document_of
from written_traces import MALLOC, MadeTrace

MIB = 1 << 20
PLACE = (Location("work", "work.c", 7, False, "shop"),)
SITES = Sites(array("I", [0, 1, 1, 2]), tuple(Site(n, PLACE, n) for n in range(3)), lambda _: PLACE)


def said(resident_mib: float, *mib: float) -> dict[str, Any]:
    """mib: of stacks 1, 2 and 3; the first two are of site 1."""
    sizes = [round(value * MIB) for value in mib]
    stacks = {"stacks": [1, 2, 3], "stack_blocks": [4, 5, 6], "stack_bytes": sizes}
    return stacks | {"resident_bytes": round(resident_mib * MIB)}


def differences(own: dict[str, Any], reference: dict[str, Any], control: dict[str, Any]) -> dict[str, Any]:
    arms = [Arm(Allocator(name, "1", ""), name == "control") for name in ("a", "control", "b")]
    first, found = held_memory.of_arms(arms, {0: reference, 1: control, 2: own}, 5e6, SITES)
    assert first is None and found is not None
    return asdict(found)


def test_pages_by_site_and_those_without_a_block() -> None:
    found = differences(said(20, 1, 2, 8), said(30, 4, 5, 8), said(30, 4, 5, 8))
    assert found["difference_bytes"] == -10 * MIB
    assert found["unowned_bytes"] == 9 * MIB
    assert found["unowned_difference_bytes"] == -4 * MIB
    (site,) = found["sites"]
    assert (site["site"], site["blocks"], site["bytes"]) == (1, 9, 3 * MIB)
    assert (site["difference_bytes"], site["share"]) == (-6 * MIB, pytest.approx(0.6))


def test_what_two_replays_of_the_reference_differ_by_is_noise() -> None:
    found = differences(said(20, 4, 5, 8), said(20, 4, 5, 6), said(20, 4, 5, 8))
    assert found["sites"] == []


def test_a_candidate_that_failed_has_none() -> None:
    arms = [Arm(Allocator(name, "1", ""), name == "control") for name in ("a", "control", "b")]
    assert held_memory.of_arms(arms, {0: said(1, 1, 1, 1), 1: said(1, 1, 1, 1)}, 0, SITES) == [None, None]


def test_the_moment_is_the_references_peak() -> None:
    arms = [Arm(Allocator("a", "1", ""), False, [{"mark_bytes": [1.0, 9.0, 3.0]}])]
    assert held_memory.peak_mark(arms) == 1
    assert held_memory.peak_mark([Arm(Allocator("a", "1", ""), False)]) is None
    assert held_memory.peak_mark([Arm(Allocator("a", "1", ""), False, [{"mark_bytes": []}])]) is None


def test_what_is_said() -> None:
    found = differences(said(20, 1, 2, 8), said(30, 4, 5, 8), said(30, 4, 5, 8))
    candidate = {"name": "jemalloc", "figures": {}, "failure": "", "memory_sites": found}
    plain = {"name": "glibc", "figures": {}, "failure": "", "memory_sites": None}
    document = {"reference": "glibc", "candidates": [plain, candidate]}
    assert about_memory(document_of(document), 5) == [
        "At 5.00 ms, when glibc has most memory, jemalloc has −10.0 MiB: −4.00 MiB in pages without a block, and "
        "of the rest most at this call site (60 % of it):",
        "  −6.00 MiB ± 92.2 KiB  9 blocks  work work.c:7",
    ]
    assert about_memory(document_of(document), 0) == []
    candidate["memory_sites"] = differences(said(32, 4, 5, 8), said(30, 4, 5, 8), said(30, 4, 5, 8))
    assert about_memory(document_of(document), 5) == [
        "At 5.00 ms, when glibc has most memory, jemalloc has +2.00 MiB, +2.00 MiB in pages without a block; "
        "no call site differs by more than noise and 1 %."
    ]
    # Beyond noise, and nothing to change an allocator for.
    less = differences(said(30.2, 4.2, 5, 8), said(30, 4, 5, 8), said(30, 4, 5, 8))
    assert len(less["sites"]) == 1
    candidate["memory_sites"] = less
    assert about_memory(document_of(document), 5) == [
        "At 5.00 ms, when glibc has most memory, jemalloc has as much; no call site differs by more than noise and 1 %."
    ]


@pytest.fixture
def file(tmp_path: Path) -> str:
    """Site 1 has 64 blocks of 100,000 bytes, site 2 small ones between them."""
    made = MadeTrace()
    made.meta("program", "/opt/shop/server").meta("allocator", "glibc 2.36 (/lib/libc.so.6)")
    made.meta("process_id", 100)
    made.line("thread", 0, 100, "main", 0, 0)
    made.line("module", 0x400000, 0x500000, 0x400000, "/opt/shop/server", "aabbcc")
    for pc in (0x401000, 0x402000):
        made.line("frame", pc, 0)
    for frame in (0, 1):
        made.line("stack", 0, frame)
    for number in range(64):
        made.event(MALLOC, 0x1000000 + 2 * MIB * number, 100_000, stack=1)
        made.event(MALLOC, 0x100000 + 4096 * number, 100, stack=2)
    made.line("memory", 1_000_000, 8_000_000)
    return str(made.write(tmp_path / "server.heapwright"))


def test_a_replay_tells_where_its_memory_lies(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["replay", file, "--set", "glibc.mmap_threshold=50000", "--on", "glibc", "--idle", "0"]
    assert run_command([*words, "--quick", "--json"]) == 0
    plain, other = json.loads(capsys.readouterr().out)["candidates"]
    found = other["memory_sites"]
    assert plain["memory_sites"] is None
    # A mapping of its own for each block ends with half a page that nothing else has.
    site = found["sites"][0]
    assert site["blocks"] == 64
    assert 64 * 100_000 < site["reference_bytes"] < site["bytes"] < 64 * 104_000
    assert 0 <= found["unowned_bytes"] < 2 * MIB
    assert run_command([*words, "--sites", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["candidates"][1]["memory_sites"] is None
