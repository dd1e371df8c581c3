# SPDX-License-Identifier: MIT
"""Settings by name become the variables that the allocators read."""

from __future__ import annotations

import pytest
from heapwright.measure.errors import MeasureError
from heapwright.replay import settings
from heapwright.replay.candidates import Candidate, is_c_library


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ("glibc.arena_max=1", {"MALLOC_ARENA_MAX": "1"}),
        ("glibc.mmap_threshold=128k,top_pad=1M", {"MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_TOP_PAD_": "1048576"}),
        (
            "glibc.tcache_count=0,mxfast=0",
            {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0"},
        ),
        ("jemalloc.narenas=1,dirty_decay_ms=-1", {"MALLOC_CONF": "narenas:1,dirty_decay_ms:-1"}),
        ("mimalloc.purge_delay=0", {"MIMALLOC_PURGE_DELAY": "0"}),
        (
            "tbb.huge_pages=1,huge_size_threshold=8M",
            {"TBB_MALLOC_USE_HUGE_PAGES": "1", "TBB_MALLOC_SET_HUGE_SIZE_THRESHOLD": "8388608"},
        ),
    ],
)  # fmt: skip
def test_names_become_variables(text: str, variables: dict[str, str]) -> None:
    allocator, chosen = settings.parse(text)
    assert settings.environment_of(allocator, chosen) == variables


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("arena_max=1", "--set takes ALLOCATOR.NAME=VALUE"),
        ("glibc", "--set takes ALLOCATOR.NAME=VALUE"),
        ("hoard.x=1", "no settings of hoard are known; known allocators: glibc"),
        ("glibc.arena_mx=1", "glibc has no setting arena_mx; did you mean arena_max?"),
        ("glibc.arena_max=many", "glibc.arena_max takes a whole number, not 'many'"),
        ("glibc.top_pad=1x", "glibc.top_pad takes a number of bytes such as"),
        ("glibc.arena_max", "--set takes NAME=VALUE, such as glibc.arena_max=1"),
        ("jemalloc.thp=always:x", "jemalloc.thp takes one word"),
    ],
)
def test_what_is_not_known_is_named(text: str, message: str) -> None:
    with pytest.raises(MeasureError, match=message.replace("?", r"\?")):
        settings.parse(text)


@pytest.mark.parametrize(
    ("recorded", "is_known"),
    [
        ("glibc 2.36 (/lib/x86_64-linux-gnu/libc.so.6)", True),
        ("glibc 2.36", True),
        ("/lib/x86_64-linux-gnu/libc.so.6", True),
        ("jemalloc 5.3.0 (/usr/lib/libjemalloc.so.2)", False),
        ("/usr/lib/libjemalloc.so.2", False),
        ("", False),
    ],
)
def test_a_c_library_is_known_without_its_version(recorded: str, is_known: bool) -> None:
    assert is_c_library(recorded) == is_known


def test_variables_of_allocators_are_known() -> None:
    assert settings.is_of_allocators("MALLOC_ARENA_MAX")
    assert settings.is_of_allocators("GLIBC_TUNABLES")
    assert not settings.is_of_allocators("PATH")
    assert not settings.is_of_allocators("PYTHONMALLOC")


def test_every_setting_that_is_tried_is_known() -> None:
    for allocator, tried in settings.GRID.items():
        for words in tried:
            assert settings.parse(f"{allocator}.{words}")[0] == allocator


def test_a_program_with_an_allocator_of_its_own_gets_the_c_librarys_by_name() -> None:
    plain = Candidate("glibc", "2.36", "", {"MALLOC_ARENA_MAX": "1"})
    assert plain.command("shop") == "MALLOC_ARENA_MAX=1 shop"
    assert plain.command("shop", brings_own=True) == "MALLOC_ARENA_MAX=1 LD_PRELOAD=libc.so.6 shop"
    other = Candidate("jemalloc", "5.3.0", "/lib/libjemalloc.so.2")
    assert other.command("shop", brings_own=True) == "LD_PRELOAD=/lib/libjemalloc.so.2 shop"
