# SPDX-License-Identifier: MIT
"""Who holds what is resident beside the heap."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from heapwright.explain.residency import Source, owners_of
from heapwright.model.facts import ResidentOwner

NAMES = ["thread stack", "library", "", "worker #1", "worker #2", "libc.so.6"]


def owners(*rows: tuple[int, int, int]) -> list[tuple[str, str, int, int]]:
    """Of rows of kind, name and anonymous bytes, most first; some of another scan as well."""
    facts = SimpleNamespace(
        resident_names=NAMES,
        resident_owners=[
            ResidentOwner(scan, kind, name, 0, anonymous, 0)
            for scan in (0, 1)
            for kind, name, anonymous in rows
        ],
    )
    report: Any = SimpleNamespace(facts=facts, top=3)
    return owners_of(Source(report, (), None, 1, False))


def test_stacks_are_one_row_in_its_place() -> None:
    assert owners((1, 5, 5000), (0, 4, 4096), (0, 3, 4000), (1, 5, 100)) == [
        ("thread stack", "of 2 threads, most worker #2 (4.00 KiB)", 8096, 0),
        ("library", "libc.so.6", 5000, 0),
        ("library", "libc.so.6", 100, 0),
    ]


def test_one_stack_keeps_its_name() -> None:
    assert owners((0, 3, 4096)) == [("thread stack", "worker #1", 4096, 0)]


def test_stacks_of_unknown_threads_are_apart() -> None:
    assert owners((0, 2, 9000), (0, 3, 4096)) == [
        ("thread stack", "of threads without a heap call, or ended", 9000, 0),
        ("thread stack", "worker #1", 4096, 0),
    ]
