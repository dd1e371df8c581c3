# SPDX-License-Identifier: MIT
"""Folders of facts with files that are damaged or missing, and facts of recordings that are not whole."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from test_fleet import ENGINES, process_rows, put
from written_traces import Command, small_trace

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def cut_in_the_middle(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:500])


def scribbled_on(path: Path) -> None:
    data = bytearray(path.read_bytes())
    footer = 8 + int.from_bytes(data[-8:-4], "little")
    data[4:-footer] = b"\xa5" * (len(data) - footer - 4)
    path.write_bytes(data)


def of_other_columns(path: Path) -> None:
    parquet.write_table(pyarrow.table({"colour": ["red"]}), path)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("table", ["process", "site"])
@pytest.mark.parametrize("damage", [cut_in_the_middle, scribbled_on, of_other_columns])
def test_a_damaged_file_is_named(
    tmp_path: Path, command: Command, damage: Callable[[Path], None], table: str, engine: str
) -> None:
    for number in range(3):
        put(tmp_path, process_rows(number, 1, {"grows": 100}), "shop", "1")
    path = sorted((tmp_path / table).rglob("*.parquet"))[1]
    damage(path)
    said = command("fleet", tmp_path, "--engine", engine)
    assert (said.code, said.out) == (2, "")
    assert f"{path} is damaged" in said.err
    if engine == "duckdb":
        assert said.err.count("\n") == 1


def test_a_table_without_files_is_named(tmp_path: Path, command: Command) -> None:
    put(tmp_path, process_rows(1, 1, {"grows": 100}), "shop", "1")
    shutil.rmtree(tmp_path / "site")
    said = command("fleet", tmp_path)
    assert said.code == 2
    assert "no files of the table site" in said.err and said.err.count("\n") == 1


def test_recordings_with_missing_calls_are_told_of(tmp_path: Path, command: Command) -> None:
    made = small_trace()
    made.has_end = False
    folder = tmp_path / "facts"
    for number, trace in enumerate((made, small_trace())):
        trace.meta("process_id", number + 5)
        path = trace.write(tmp_path / f"{number}.heapwright")
        said = command("export", path, "--to", "parquet", "--fleet", folder, "--service", "shop", "--json")
        assert ("INCOMPLETE RECORDING: the end mark is missing" in said.err) == (number == 0)
        assert ("incomplete" in json.loads(said.out)) == (number == 0)
    said = command("fleet", folder, "--question", "services", "--json")
    assert said.err == (
        "INCOMPLETE RECORDINGS: calls are missing in 1 of 2; sums that include these are too low\n"
    )
    (service,) = json.loads(said.out)["answers"]["services"]
    assert (service["processes"], service["incomplete"]) == (2, 1)
