# SPDX-License-Identifier: MIT
"""export --anonymize: no name is left in any format, and every shape is."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from pathlib import Path
from unittest import mock

import duckdb
import pytest
from heapwright.export import FORMATS
from heapwright.model.anonymous import AnonymousTrace, Names
from heapwright.model.facts.mapped_memory import MappedMemory
from heapwright.model.symbols import Location
from heapwright.model.tables import TABLES
from heapwright.model.trace import Trace as HeapTrace
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
from written_traces import PROJECT, Command, small_trace

SECRETS = (
    b"server",
    b"shop",
    b"libc",
    b"x86_64",
    b"worker",
    b"aabbcc",
    b"ddeeff",
    b"401000",
    b"hunter2",
    b"opt/",
)
# What its format calls the native heap, whatever library that is.
PERFETTOS_WORD = b"libc.malloc"


@pytest.fixture
def trace_file(tmp_path: Path) -> Path:
    made = small_trace().meta("command", "/opt/shop/server --key hunter2").meta("process_id", 4711)
    return made.write(tmp_path / "server.heapwright")


def export(command: Command, trace_file: Path, form: str, *options: str) -> bytes:
    target = trace_file.with_name("out")
    said = command("export", trace_file, "--to", form, "-o", target, "--force", *options)
    assert said.code == 0, said.err
    data = target.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


@pytest.mark.parametrize("form", [name for name in FORMATS if name != "parquet"])
def test_no_name_is_left(command: Command, trace_file: Path, form: str) -> None:
    named = export(command, trace_file, form)
    assert b"server" in named
    unnamed = export(command, trace_file, form, "--anonymize").replace(PERFETTOS_WORD, b"")
    assert [secret for secret in SECRETS if secret in unnamed] == []
    assert abs(len(unnamed) - len(named)) < len(named)


@pytest.mark.parametrize("table", TABLES)
def test_no_name_is_left_in_a_table(command: Command, trace_file: Path, table: str) -> None:
    def rows(*options: str) -> tuple[list[str], list[tuple[object, ...]]]:
        export(command, trace_file, "parquet", "--table", table, *options)
        found = duckdb.sql(f"select * from read_parquet('{trace_file.with_name('out')}')")
        return found.columns, found.fetchall()

    names, named = rows()
    same_names, unnamed = rows("--anonymize")
    assert same_names == names
    assert len(unnamed) == len(named)
    text = repr(unnamed).encode()
    assert [secret for secret in SECRETS if secret in text] == []
    kept = {"event", "block", "memory", "stack"}
    assert table not in kept or unnamed == named


def shapes(folded: bytes) -> tuple[Counter[tuple[int, int]], int]:
    """How deep each stack is and what it weighs; how many names there are."""
    lines = [line.rpartition(" ") for line in folded.decode().splitlines()]
    names = {name for stack, _, _ in lines for name in stack.split(";")}
    return Counter((stack.count(";"), int(value)) for stack, _, value in lines), len(names)


def test_shapes_are_kept(command: Command, trace_file: Path) -> None:
    named = export(command, trace_file, "folded")
    unnamed = export(command, trace_file, "folded", "--anonymize")
    assert shapes(unnamed) == shapes(named)
    assert re.match(r"function_[0-9a-f]{10}[; ]", unnamed.decode())


def test_each_run_has_hashes_of_its_own(command: Command, trace_file: Path) -> None:
    runs = {export(command, trace_file, "folded", "--anonymize") for _ in range(2)}
    assert len(runs) == 2


def test_filters_go_by_the_names(command: Command, trace_file: Path) -> None:
    chosen = export(command, trace_file, "folded", "--anonymize", "--site", r"server\+0x3000")
    assert [line.rpartition(b" ")[2] for line in chosen.splitlines()] == [b"4000"]


def test_process_and_host_are_not_told(command: Command, trace_file: Path) -> None:
    trace = Trace()
    trace.ParseFromString(export(command, trace_file, "perfetto", "--anonymize"))
    tracks = [packet.track_descriptor for packet in trace.packet if packet.HasField("track_descriptor")]
    assert {track.process.pid for track in tracks if track.HasField("process")} == {1}
    assert {track.thread.tid for track in tracks if track.HasField("thread")} == {1, 2}
    dumps = [dump for packet in trace.packet for dump in packet.profile_packet.process_dumps]
    assert {dump.pid for dump in dumps} == {1}
    (clocks,) = [packet.clock_snapshot.clocks for packet in trace.packet if packet.HasField("clock_snapshot")]
    assert {clock.timestamp for clock in clocks} == {0}


def test_names_of_mappings_are_hashed_but_the_kernels() -> None:
    rows = [
        MappedMemory(1, name, 1, 4096, 4096, 0, 0)
        for name in ("", "[heap]", "[stack]", "[anon:secret cache]", "/opt/secret/lib.so (deleted)")
    ]
    with mock.patch.object(HeapTrace, "mapped_memory", lambda *_: tuple(rows)):
        trace = HeapTrace(PROJECT / "tests/traces/version-1-made.heapwright")
        unnamed = AnonymousTrace(trace).mapped_memory(0, 10, 5)
    assert [row.name for row in unnamed[:3]] == ["", "[heap]", "[stack]"]
    assert all(re.fullmatch("mapping_[0-9a-f]{10}", row.name) for row in unnamed[3:])
    assert [row._replace(name="") for row in unnamed] == [row._replace(name="") for row in rows]


def test_the_files_own_name_is_not_the_programs(command: Command, trace_file: Path) -> None:
    said = command("export", trace_file, "--to", "folded", "--anonymize")
    assert said.out.startswith("anonymous.folded ")


def test_equal_names_stay_equal_and_lines_apart() -> None:
    names = Names()
    one = names.location(Location("(anonymous namespace)::secret", "a.cpp", 3, False, "lib.so"))
    assert "secret" not in repr(one)
    other = names.location(Location("(anonymous namespace)::secret", "a.cpp", 4, False, "lib.so"))
    assert (one.function, one.file, one.library) == (other.function, other.file, other.library)
    assert one.line != other.line
    assert names.location(Location("f", "", 0, False, "")).line == 0
    missing = Location("(no stack was captured)", "", 0, False, "")
    assert names.location(missing) == missing
