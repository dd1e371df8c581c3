# SPDX-License-Identifier: MIT
"""export --anonymize: no name is left in any format, and every shape is."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path

import duckdb
import pytest
from heapwright.export import FORMATS
from heapwright.model.anonymous import Names
from heapwright.model.symbols import Location
from heapwright.model.tables import TABLES
from written_traces import Command, small_trace

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
    unnamed = export(command, trace_file, form, "--anonymize")
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
    events = json.loads(export(command, trace_file, "perfetto", "--anonymize"))["traceEvents"]
    assert {event["pid"] for event in events} == {1}
    assert {event["tid"] for event in events} <= {0, 1, 2}


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
