# SPDX-License-Identifier: MIT
"""Which patterns of slow calls reach the first screen."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import pytest
from heapwright.explain import slow_calls, slow_causes
from heapwright.explain.allocators import allocator_of


def answer(duration_ns: int, longest_ns: int) -> dict[str, Any]:
    pattern = {
        "name": "growth in small steps",
        "duration_ns": duration_ns,
        "longest_ns": longest_ns,
        "evidence": "so",
    }
    return {
        "cpu_ns": 1_000_000_000,
        "thread_time_ns": 9_000_000_000,
        "patterns": [pattern],
        "causes": [],
        "calls": [],
    }


@pytest.mark.parametrize(
    ("duration_ns", "longest_ns", "is_shown"),
    [
        (2_700_000, 30_000, False),
        (2_700_000, 1_000_000, True),
        (49_000_000, 30_000, False),
        (50_000_000, 30_000, True),
    ],
)
def test_a_long_call_or_a_large_share_is_shown(duration_ns: int, longest_ns: int, is_shown: bool) -> None:
    found = slow_calls.QUESTION.findings(answer(duration_ns, longest_ns))
    assert [finding.text for finding in found] == (["growth in small steps: so"] if is_shown else [])
    # Above what only describes: those weigh 1 at most.
    assert all(finding.weight > 1 for finding in found)


@pytest.mark.parametrize(
    ("arenas", "usable_bytes", "remedy"),
    [
        ("2", 1000, "raise MALLOC_ARENA_MAX or remove it"),
        ("8", 1000, "make fewer concurrent heap calls"),  # an arena for each thread
        ("2", 4080, "keep blocks instead of freeing them"),  # mapped one by one: in no arena
        ("", 1000, "make fewer concurrent heap calls"),
    ],
)
def test_more_arenas_are_advised_where_these_are_too_few(arenas: str, usable_bytes: int, remedy: str) -> None:
    site = Made(allocations=1000, overhead_bytes=1000 * (usable_bytes - 1000))
    facts = Made(
        kernel=Made(waits=500, waited_ns=10**9, waited_in_scans_ns=0),
        totals=Made(allocator_ns=10**9),
        sites=[site],
        threads=[Made(allocations=100)] * 8 + [Made(allocations=0)],
        slowest=[],
    )
    settings = {"MALLOC_ARENA_MAX": arenas} if arenas else {}
    metadata = Made(allocator="glibc 2.36", condition_values=settings)
    report: Any = Made(facts=facts, allocator=allocator_of(metadata, ()))
    (pattern,) = slow_causes._lock(report)
    assert pattern.remedy == f"{remedy}, or use an allocator with thread caches"
    assert ("MALLOC_ARENA_MAX=2, for 8 threads" in pattern.evidence) == remedy.startswith("raise")
