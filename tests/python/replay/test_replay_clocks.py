# SPDX-License-Identifier: MIT
"""Both ends of the clock by which an allocator gives memory back."""

from __future__ import annotations

import pytest
from heapwright.replay import settings
from heapwright.replay.candidates import Candidate
from heapwright.replay.clocks import ends_of


def candidate(name: str, **chosen: str) -> Candidate:
    variables = settings.environment_of(name, chosen) if chosen else {}
    return Candidate(f"{name} {chosen}" if chosen else name, "1", "/lib/x.so", variables)


def test_both_ends_are_the_allocators_own_settings() -> None:
    ends = ends_of(candidate("mimalloc"))
    assert ends is not None
    assert ends.at_once.variables == {"MIMALLOC_PURGE_DELAY": "0", "MIMALLOC_DECOMMIT_DELAY": "0"}
    assert set(ends.never.variables.values()) == {"1000000"}
    assert (ends.at_once.path, ends.at_once.change) == ("/lib/x.so", "")


def test_what_else_was_set_stays_and_the_last_word_counts() -> None:
    ends = ends_of(candidate("jemalloc", narenas="1", dirty_decay_ms="500"))
    assert ends is not None
    text = "narenas:1,dirty_decay_ms:500,dirty_decay_ms:-1,muzzy_decay_ms:-1"
    assert ends.never.variables == {"MALLOC_CONF": text}
    own = ends_of(candidate("heapwright", decay_ms="20"))
    assert own is not None
    assert own.at_once.variables == {"HEAPWRIGHT_HEAP_DECAY_MS": "0"}


@pytest.mark.parametrize(
    "settled",
    [
        candidate("glibc"),
        candidate("tcmalloc"),
        candidate("mimalloc", decommit_delay="0"),
        candidate("jemalloc", narenas="1", dirty_decay_ms="-1"),
        candidate("heapwright", decay_ms="0"),
    ],
)
def test_without_a_clock_or_at_one_of_its_ends_there_is_nothing_to_bound(settled: Candidate) -> None:
    assert ends_of(settled) is None
