# SPDX-License-Identifier: MIT
"""What stands out names the parts that answer it, to programs in C++."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_explain import check, explained, made, printed
from written_traces import DELETE, FREE, MALLOC, NEW, MadeTrace

PROJECT = Path(__file__).resolve().parents[2]


def many_blocks(allocate: int, release: int, size: int, kept: int = 12_000) -> MadeTrace:
    trace = MadeTrace()
    for block in range(kept):
        trace.event(allocate, 0x100000 + block * 4096, size)
    for block in range(kept):
        trace.event(release, 0x100000 + block * 4096)
    return trace


def parts_of(trace: MadeTrace, path: Path) -> dict[str, list[str]]:
    document = explained(made(path, trace))
    check(document)
    found = document["summary"]["findings"]
    text = " ".join(printed(document, 400).split())
    for finding in found:
        if finding["parts"]:
            assert f"; parts for it: {', '.join(finding['parts'])} [{finding['question']}]" in text
    return {finding["question"]: finding["parts"] for finding in found}


def test_many_small_blocks_of_one_site_are_nodes(tmp_path: Path) -> None:
    parts = parts_of(many_blocks(NEW, DELETE, 48), tmp_path)
    assert parts["calls"] == parts["sizes"] == ["node_pool", "arena"]


def test_many_large_blocks_are_objects_or_buffers(tmp_path: Path) -> None:
    parts = parts_of(many_blocks(NEW, DELETE, 2000), tmp_path)
    assert parts["calls"] == ["object_pool", "buffer_cache"]


def test_a_program_in_c_is_told_of_none(tmp_path: Path) -> None:
    parts = parts_of(many_blocks(MALLOC, FREE, 48), tmp_path)
    assert parts["calls"] == []


def test_temporaries_roundings_and_slow_frees_have_their_parts(tmp_path: Path) -> None:
    trace = MadeTrace()
    for _ in range(2000):
        trace.event(NEW, 0x1000, 24, usable=40).event(DELETE, 0x1000)
    for block in range(100):
        trace.event(NEW, 0x10000 + block * 64, 24, usable=40)
    trace.event(DELETE, 0x10000, took=5_000_000)
    parts = parts_of(trace, tmp_path)
    assert parts["temporaries"] == ["small_vector", "buffer_cache"]
    assert parts["overhead"] == ["node_pool"]
    assert parts["slow_calls"] == ["deferred_free"]


@pytest.mark.parametrize(
    "name", ["node_pool", "arena", "object_pool", "buffer_cache", "small_vector", "deferred_free"]
)
def test_every_part_that_is_named_has_a_page(name: str) -> None:
    assert (PROJECT / f"docs/parts/{name}.md").is_file()
    assert (PROJECT / f"include/heapwright/{name}.hpp").is_file()
