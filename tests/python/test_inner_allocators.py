# SPDX-License-Identifier: MIT
"""What is said of an allocator that is linked into the program."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from heapwright.explain.allocators import Allocator, allocator_of
from heapwright.explain.remedies import remedies
from test_causes import FREE, MAIN_HEAP, case, part, remedy


def test_an_allocator_inside_the_program_has_its_own_variable_and_none_takes_its_place() -> None:
    metadata = SimpleNamespace(
        allocator="jemalloc inside (_rjem_malloc)",
        condition_values={"_RJEM_MALLOC_CONF": "narenas:1,dirty_decay_ms:5", "MALLOC_CONF": "narenas:9"},
    )
    allocator = allocator_of(metadata, [])
    assert (allocator.family, allocator.is_inside) == ("jemalloc", True)
    assert allocator.options_of_jemalloc() == {"narenas": "1", "dirty_decay_ms": "5"}
    outside = case({}, part(MAIN_HEAP, FREE), family="jemalloc", kept=FREE)
    inside = outside._replace(kinds=outside.kinds._replace(allocator=allocator))
    assert "in _RJEM_MALLOC_CONF" in remedy(inside, "decay").what
    assert "in MALLOC_CONF" in remedy(outside, "decay").what
    preloads = [[one for one in remedies(of) if "LD_PRELOAD" in one.what] for of in (inside, outside)]
    assert preloads[0] == []
    assert preloads[1] != []


@pytest.mark.parametrize(
    ("function", "variable"),
    [
        ("je_malloc", "JE_MALLOC_CONF"),
        ("_rjem_malloc", "_RJEM_MALLOC_CONF"),
        ("_rjem_je_malloc", "_RJEM_MALLOC_CONF"),
        ("shop_je_malloc", "SHOP_JE_MALLOC_CONF"),
        ("", "MALLOC_CONF"),
    ],
)
def test_jemallocs_variable_has_its_prefix(function: str, variable: str) -> None:
    assert Allocator("jemalloc", "jemalloc inside", 0, {}, function).conf_of_jemalloc == variable
