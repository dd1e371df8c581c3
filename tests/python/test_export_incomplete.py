# SPDX-License-Identifier: MIT
"""Exports and queries of recordings that calls are missing in: said on stderr, in JSON and in the file."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import duckdb
import jsonschema
import pytest
from heapwright.cli import output_schemas
from written_traces import Command, small_trace

REASON = "the end mark is missing: the recording was cut"
WARNING = f"INCOMPLETE RECORDING: {REASON}"
PLACES = {
    "pprof": lambda data: WARNING.encode() in gzip.decompress(data),
    "otlp": lambda data: b"heapwright.incomplete" in data and WARNING.encode() in data,
    "dhat": lambda data: json.loads(data)["cmd"].startswith(f"/opt/shop/server  {WARNING}"),
    "speedscope": lambda data: json.loads(data)["name"].startswith(f"/opt/shop/server  {WARNING}"),
    "perfetto": lambda data: WARNING.encode() in data,
    "folded": lambda _: True,  # it has no place for it
}


@pytest.fixture
def cut_trace(tmp_path: Path) -> Path:
    made = small_trace()
    made.has_end = False
    return made.write(tmp_path / "cut.heapwright")


@pytest.mark.parametrize("form", PLACES)
def test_an_export_says_that_calls_are_missing(command: Command, cut_trace: Path, form: str) -> None:
    target = cut_trace.with_name("out")
    said = command("export", cut_trace, "--to", form, "-o", target, "--json")
    assert said.code == 0
    assert said.err.startswith(WARNING) and said.err.count("\n") == 1
    document = json.loads(said.out)
    assert document["incomplete"][0] == REASON
    jsonschema.validate(document, output_schemas.schema("export"))
    assert PLACES[form](target.read_bytes())


@pytest.mark.parametrize("table", ["event", "site", "thread"])
def test_a_table_says_that_calls_are_missing(command: Command, cut_trace: Path, table: str) -> None:
    target = cut_trace.with_name("out.parquet")
    said = command("export", cut_trace, "--to", "parquet", "--table", table, "-o", target)
    assert said.code == 0
    assert WARNING in said.err
    rows = dict(duckdb.sql(f"select key, value from parquet_kv_metadata('{target}')").fetchall())
    assert rows[b"heapwright.incomplete"].startswith(WARNING.encode())


def test_a_query_says_that_calls_are_missing(command: Command, cut_trace: Path, tmp_path: Path) -> None:
    said = command("sql", cut_trace, "select count(*) from event", "--json")
    assert (said.code, said.err[: len(WARNING)]) == (0, WARNING)
    document = json.loads(said.out)
    assert document["incomplete"][0] == REASON
    jsonschema.validate(document, output_schemas.schema("sql"))
    assert command("sql", cut_trace, "select 1").err.startswith("next:")  # of no call
    whole = small_trace().write(tmp_path / "whole.heapwright")
    said = command("sql", whole, "select count(*) from event", "--json")
    assert (said.err, "incomplete" in json.loads(said.out)) == ("", False)


@pytest.mark.parametrize("form", [*PLACES, "parquet"])
def test_a_whole_recordings_export_says_nothing(command: Command, tmp_path: Path, form: str) -> None:
    trace = small_trace().write(tmp_path / "whole.heapwright")
    said = command("export", trace, "--to", form, "-o", tmp_path / "out", "--json")
    assert (said.code, said.err) == (0, "")
    assert "incomplete" not in json.loads(said.out)
    assert b"INCOMPLETE" not in (tmp_path / "out").read_bytes()


def test_a_reason_gives_no_name_away(command: Command, tmp_path: Path) -> None:
    made = small_trace()
    made.meta("unseen", "calls to the malloc of libsecret.so were not seen")
    trace = made.write(tmp_path / "unseen.heapwright")
    target = tmp_path / "out"
    said = command("export", trace, "--to", "dhat", "-o", target)
    assert "libsecret" in said.err
    assert "libsecret" in target.read_text()
    said = command("export", trace, "--to", "dhat", "-o", target, "--force", "--anonymize", "--json")
    assert json.loads(said.out)["incomplete"] == ["some calls were not seen"]
    assert "libsecret" not in target.read_text() + said.out
