# SPDX-License-Identifier: MIT
"""The exports, opened by their real consumers where one can run here."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import duckdb
import pytest
from written_traces import Command

GO = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin:/usr/lib/go/bin")


def export(command: Command, trace_file: Path, form: str, *options: str) -> Path:
    target = trace_file.with_name(f"out.{form}")
    said = command("export", trace_file, "--to", form, "-o", target, *options)
    assert said.code == 0, said.err
    assert target.stat().st_mode & 0o777 == 0o600
    return target


def test_folded(command: Command, trace_file: Path) -> None:
    lines = export(command, trace_file, "folded").read_text().splitlines()
    assert "server+0x1000;server+0x3000 4000" in lines
    assert "server+0x1000;server+0x2000;libc.so.6+0x1000 550" in lines
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == 4714


@pytest.mark.parametrize(("measure", "total"), [("calls", 5), ("peak", 4100), ("leaked", 100)])
def test_folded_measures(command: Command, trace_file: Path, measure: str, total: int) -> None:
    lines = export(command, trace_file, "folded", "--measure", measure).read_text().splitlines()
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == total


@pytest.mark.full
@pytest.mark.skipif(GO is None, reason="go is not installed")
def test_pprof_opens_in_go_tool_pprof(command: Command, trace_file: Path) -> None:
    target = export(command, trace_file, "pprof")

    def pprof(*options: str) -> str:
        assert GO is not None
        return subprocess.run(
            [GO, "tool", "pprof", *options, target], capture_output=True, text=True, check=True
        ).stdout

    top = pprof("-top", "-unit=B", "-sample_index=alloc_space")
    assert "Type: alloc_space" in top
    assert "4714B total" in top
    assert "4000B" in next(line for line in top.splitlines() if line.endswith("server+0x3000"))
    assert "100B total" in pprof("-top", "-unit=B", "-sample_index=inuse_space")
    assert "1 total" in pprof("-top", "-sample_index=inuse_objects")
    raw = pprof("-raw")
    assert "/opt/shop/server aabbcc" in raw


def check_speedscope(document: dict[str, Any]) -> None:
    """What speedscope's file-format-spec.ts asks of a sampled profile."""
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = document["shared"]["frames"]
    assert all(isinstance(frame["name"], str) for frame in frames)
    for profile in document["profiles"]:
        assert profile["type"] == "sampled"
        assert profile["unit"] in ("none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes")
        assert len(profile["samples"]) == len(profile["weights"])
        assert profile["endValue"] - profile["startValue"] == sum(profile["weights"])
        assert all(0 <= frame < len(frames) for sample in profile["samples"] for frame in sample)


def test_speedscope(command: Command, trace_file: Path) -> None:
    document = json.loads(export(command, trace_file, "speedscope").read_text())
    check_speedscope(document)
    assert [profile["endValue"] for profile in document["profiles"]] == [4100, 100, 4714, 5]
    names = [frame["name"] for frame in document["shared"]["frames"]]
    volume = document["profiles"][2]
    largest = max(zip(volume["weights"], volume["samples"], strict=True))[1]
    assert [names[frame] for frame in largest] == ["server+0x1000", "server+0x3000"]


@pytest.mark.parametrize(("table", "rows"), [("event", 8), ("block", 5), ("thread", 2), ("stack", 5)])
def test_parquet(command: Command, trace_file: Path, table: str, rows: int) -> None:
    target = export(command, trace_file, "parquet", "--table", table)
    assert duckdb.sql(f"select count(*) from '{target}'").fetchall() == [(rows,)]


@pytest.mark.parametrize(
    ("filters", "condition"),
    [
        (["--thread", "1"], "thread = 1"),
        (["--from", "150ns", "--until", "5ms"], "begin_ns >= 150 and begin_ns < 5000000"),
        (["--site", "0x3000"], "size = 4000"),
        (["--site", "nobody calls this"], "false"),
    ],
)
def test_parquet_of_chosen_rows(
    command: Command, trace_file: Path, filters: list[str], condition: str
) -> None:
    whole = export(command, trace_file, "parquet", "--table", "event").rename(
        trace_file.with_name("whole.parquet")
    )
    chosen = export(command, trace_file, "parquet", "--table", "event", *filters)
    connection = duckdb.connect()
    connection.execute(f"create table whole as select * from '{whole}'")
    wanted = connection.execute(f"select * from whole where {condition}").fetchall()
    assert connection.execute(f"select * from '{chosen}'").fetchall() == wanted
    assert len(wanted) < 8
    assert (not wanted) == (condition == "false")


def test_parquet_filters_need_a_table_of_calls(command: Command, trace_file: Path) -> None:
    said = command("export", trace_file, "--to", "parquet", "--table", "site", "--thread", "1")
    assert said.err == "heapwright: filters apply to the tables event and block, not to site\n"


def test_names_and_existing_files(command: Command, trace_file: Path) -> None:
    first = command("export", trace_file, "--to", "folded")
    assert first.out.startswith("server.folded  ")
    assert first.err == "next: flamegraph.pl server.folded > flames.svg\n"
    again = command("export", trace_file, "--to", "folded")
    assert (again.code, again.err) == (
        2,
        "heapwright: server.folded exists; use --force to replace it or choose another with --output\n",
    )
    said = command("export", trace_file, "--to", "folded", "--force", "--json")
    assert json.loads(said.out)["schema"] == "heapwright.export/1"
    assert [path.name for path in trace_file.parent.glob(".*.part")] == []
