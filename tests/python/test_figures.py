# SPDX-License-Identifier: MIT
"""Each figure of a report against a sum done by hand; each share within its whole."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import heapwright
import heapwright.explain.report
import pytest
from heapwright import explain
from heapwright.model import Filter
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from written_traces import FREE, MALLOC, REALLOC, Command, MadeTrace

MMAP, MUNMAP = 80, 81


def with_sites(made: MadeTrace) -> MadeTrace:
    """Stacks 1 to 3: main, main > first, main > second."""
    made.meta("program", "/opt/app").line("module", 0x400000, 0x500000, 0x400000, "/opt/app", "aa")
    made.line("thread", 0, 100, "main", 0, 0).line("thread", 1, 101, "worker", 0, 0)
    for pc in (0x401000, 0x402000, 0x403000):
        made.line("frame", pc, 0)
    return made.line("stack", 0, 0).line("stack", 1, 1).line("stack", 1, 2)


def questions(tmp_path: Path, made: MadeTrace, chosen: Filter | None = None, top: int = 10) -> dict[str, Any]:
    chosen = chosen or Filter()
    trace = heapwright.open(made.write(tmp_path / "made.heapwright"))
    report = explain.Report(trace, trace.facts(chosen), trace.sites(), chosen, top)
    document = explain.explain(report)
    return {**document["questions"], "summary": document["summary"]}


def shares(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if "share" in key:
                yield f"{path}.{key}", inner
            yield from shares(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from shares(inner, path)


def test_a_threads_share_is_of_its_own_time(tmp_path: Path) -> None:
    made = with_sites(MadeTrace())
    made.event(MALLOC, 0x1000, 10, thread=0, at=1600, took=1_000_000, stack=2)
    made.event(MALLOC, 0x2000, 10, thread=1, at=1600, took=4_000_000, stack=3)
    # 10 ms each: the end of the recording, from the first event of the trace on
    both = questions(tmp_path, made)["time"]
    one = questions(tmp_path, made, Filter(threads=(1,)))["time"]
    assert both["thread_time_ns"] == 20_000_000
    assert both["share"] == 0.25
    assert one["thread_time_ns"] == 10_000_000
    assert one["share"] == 0.4
    assert [site["time_ns"] for site in one["sites"]] == [4_000_000]


def test_never_freed_is_of_the_blocks_that_were_freed_or_stayed(tmp_path: Path) -> None:
    made = with_sites(MadeTrace())
    for number in range(4):
        made.event(MALLOC, 0x1000 + 64 * number, 10, at=16_000 * (number + 1), stack=2)
    made.event(FREE, 0x1000, at=96_000)
    made.event(MALLOC, 0x9000, 10, at=112_000, stack=3)
    leaks = questions(tmp_path, made)["leaks"]
    assert [site["share_of_allocations"] for site in leaks["sites"]] == [0.75, 1.0]
    assert [site["share"] for site in leaks["sites"]] == [0.75, 0.25]
    # One of the four is allocated in the range, three of them stay: three of four, not of one.
    late = questions(tmp_path, made, Filter(from_ns=56_000))["leaks"]
    assert [site["share_of_allocations"] for site in late["sites"]] == [0.75, 1.0]


def test_the_total_of_realloc_is_of_all_sites(tmp_path: Path) -> None:
    made = with_sites(MadeTrace())
    for number, stack in enumerate((2, 3)):
        at = 0x10000 * (number + 1)
        made.event(MALLOC, at, 100, stack=1)
        made.event(REALLOC, at + 0x1000, 200 * (number + 1), old=at, stack=stack)
    answer = questions(tmp_path, made, top=1)["realloc"]
    assert len(answer["sites"]) == 1
    assert (answer["chains"], answer["steps"], answer["copied_bytes"]) == (2, 2, 200)


def test_a_temporarys_time_is_its_allocation_and_its_free(tmp_path: Path) -> None:
    made = with_sites(MadeTrace())
    made.event(MALLOC, 0x1000, 10, stack=2, took=160)
    made.event(FREE, 0x1000, took=800)
    (site,) = questions(tmp_path, made)["temporaries"]["sites"]
    assert site["time_ns"] == 960


def test_a_temporary_from_before_the_range_is_one_of_the_freed(tmp_path: Path) -> None:
    made = with_sites(MadeTrace())
    made.event(MALLOC, 0x1000, 10, stack=2, at=1600)
    made.event(FREE, 0x1000, at=160_000)
    answer = questions(tmp_path, made, Filter(from_ns=80_000))["temporaries"]
    assert (answer["temporaries"], answer["share"]) == (1, 1.0)
    assert [site["share_of_site"] for site in answer["sites"]] == [1.0]


def test_mappings_have_sites(tmp_path: Path) -> None:
    made = with_sites(MadeTrace())
    made.event(MMAP, 0x7F0000000000, 8 << 40, stack=2, usable=0)
    made.event(MMAP, 0x6F0000000000, 8192, stack=3, usable=0)
    made.event(MUNMAP, 0x6F0000000000, 4096, usable=0)
    found = questions(tmp_path, made)["mappings"]
    assert (found["calls"], found["mapped_bytes"]) == (2, (8 << 40) + 8192)
    assert (found["unmapped_bytes"], found["at_end_bytes"]) == (4096, (8 << 40) + 4096)
    rows = [(s["name"], s["calls"], s["mapped_bytes"], s["unmapped_bytes"]) for s in found["sites"]]
    assert rows == [("app+0x2000", 1, 8 << 40, 0), ("app+0x3000", 1, 8192, 4096)]
    assert sum(site["share"] for site in found["sites"]) == 1


def test_the_timelines_measures_are_of_one_moment(tmp_path: Path) -> None:
    made = with_sites(MadeTrace())
    made.event(MALLOC, 0x1000, 1000, usable=1024, stack=2)
    made.event(MALLOC, 0x2000, 100_000, usable=100_004, stack=2)
    made.event(FREE, 0x2000)
    made.line("memory", 1600, 5000, 300, 0, 70, 20)
    points = questions(tmp_path, made)["timeline"]["points"]
    highest = max(points, key=lambda point: point["highest_live_bytes"])
    assert (highest["highest_live_bytes"], highest["usable_at_highest_bytes"]) == (101_000, 101_028)
    last = points[-1]
    assert (last["resident_bytes"], last["resident_file_bytes"], last["resident_shared_bytes"]) == (
        5000,
        300,
        20,
    )


# Any calls of three threads, any range: no share is above its whole.
CALL = st.tuples(
    st.sampled_from((MALLOC, MALLOC, FREE, REALLOC)),
    st.integers(1, 6),
    st.integers(0, 2),
    st.integers(16, 90_000),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    calls=st.lists(CALL, min_size=1, max_size=40),
    from_ns=st.integers(0, 2_000_000),
    span_ns=st.integers(0, 2_000_000),
    threads=st.sets(st.integers(0, 2)),
)
def test_no_share_is_larger_than_its_whole(
    tmp_path: Path, calls: list[tuple[int, int, int, int]], from_ns: int, span_ns: int, threads: set[int]
) -> None:
    made = with_sites(MadeTrace())
    for kind, block, thread, took in calls:
        address = 0x1000 * block
        old = 0x1000 * (block % 6 + 1) if kind == REALLOC else 0
        size = 0 if kind == FREE else 24 * block
        made.event(kind, address, size, thread=thread, took=took, old=old, stack=1 + block % 3)
    chosen = Filter(from_ns=from_ns, to_ns=from_ns + span_ns, threads=tuple(sorted(threads)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heapwright.explain.report, "LARGEST_SHARE", math.inf)
        found = list(shares(questions(tmp_path, made, chosen)))
    assert len(found) > 5
    for name, share in found:
        assert 0 <= share <= 1, name


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not data[at - 1] & 0x80:
            return value, at


def decoded(data: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a protobuf message: numbers, and what has a length as bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value: Any
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at : at + value], at + value
        yield key >> 3, value


def test_pprof_begins_with_the_peak_and_the_main_program(command: Command, tmp_path: Path) -> None:
    made = MadeTrace().meta("program", "/opt/app")
    made.line("module", 0x700000, 0x800000, 0x700000, "/lib/libc.so.6", "cc")
    made.line("module", 0x400000, 0x500000, 0x400000, "/opt/app", "aa")
    made.line("thread", 0, 100, "main", 0, 0)
    made.line("frame", 0x401000, 1).line("stack", 0, 0)
    made.event(MALLOC, 0x1000, 600, stack=1, took=160)
    made.event(MALLOC, 0x2000, 40, stack=1, took=160)
    made.event(FREE, 0x1000, took=800)
    made.write(tmp_path / "made.heapwright")
    for measure, first in (("", "peak_space"), ("time", "time"), ("leaked", "inuse_space")):
        options = ["--measure", measure] if measure else []
        said = command("export", "made.heapwright", "--to", "pprof", "-o", "out.pb.gz", "--force", *options)
        assert said.code == 0, said.err
        fields = list(decoded(gzip.decompress((tmp_path / "out.pb.gz").read_bytes())))
        texts = [value.decode() for number, value in fields if number == 6]
        assert texts[dict(fields)[14]] == first
        types = [texts[dict(decoded(value))[1]] for number, value in fields if number == 1]
        (sample,) = [dict(decoded(value)) for number, value in fields if number == 2]
        values, at = [], 0
        while at < len(sample[2]):
            value, at = varint(sample[2], at)
            values.append(value)
        assert dict(zip(types, values, strict=True)) == {
            "peak_objects": 2, "peak_space": 640, "inuse_objects": 1, "inuse_space": 40,
            "alloc_objects": 2, "alloc_space": 640, "time": 1120,
        }  # fmt: skip
        mappings = [dict(decoded(value)) for number, value in fields if number == 3]
        assert [texts[mapping[5]] for mapping in mappings] == ["/opt/app", "/lib/libc.so.6"]


def test_time_counts_the_frees(command: Command, tmp_path: Path) -> None:
    made = with_sites(MadeTrace())
    made.event(MALLOC, 0x1000, 10, stack=2, took=160)
    made.event(FREE, 0x1000, took=800)
    made.write(tmp_path / "made.heapwright")
    command("export", "made.heapwright", "--to", "folded", "-o", "out.folded", "--measure", "time")
    assert (tmp_path / "out.folded").read_text().endswith(" 960\n")
    command("export", "made.heapwright", "--to", "speedscope", "-o", "out.json", "--measure", "time")
    (profile,) = json.loads((tmp_path / "out.json").read_text())["profiles"]
    assert (profile["weights"], profile["name"]) == (
        [960],
        "time in allocation calls and the frees of their blocks",
    )
