# SPDX-License-Identifier: MIT
"""Recorded programs replayed: the replay's memory is the recorded one, or the report says by how much it is not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import Record, collector, programs
from heapwright.cli import run_command

MIB = 1 << 20


@pytest.fixture(autouse=True)
def _use_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEAPWRIGHT_BIN", str(collector.parent))


def replayed(record: Record, capsys: pytest.CaptureFixture[str], load: str, *options: str) -> dict[str, Any]:
    file = record("replayed_loads", load, options=options).paths()[0]
    capsys.readouterr()
    assert run_command(["replay", str(file), "--on", "glibc", "--runs", "2", "--idle", "0", "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert document["is_recorded"]
    return document["fidelity"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(("load", "least_mib"), [("staggered", 10), ("chains", 10), ("quarter", 9)])
def test_memory_is_that_of_the_recording(
    record: Record, capsys: pytest.CaptureFixture[str], load: str, least_mib: int
) -> None:
    truth = replayed(record, capsys, load)
    assert truth["recorded"]["peak_bytes"] > least_mib * MIB
    for figure in ("peak_bytes", "end_bytes"):
        assert truth["errors"][figure] < 0.05 * truth["recorded"]["peak_bytes"], figure


def test_what_no_scan_saw_is_told_as_an_error(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    truth = replayed(record, capsys, "quarter", "--no-residency")
    assert 9 * MIB < truth["recorded"]["peak_bytes"] < 13 * MIB
    assert truth["errors"]["peak_bytes"] > 25 * MIB


def test_a_block_of_no_bytes_is_not_read(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    file = record("replayed_loads", "nothing").paths()[0]
    capsys.readouterr()
    words = ["replay", str(file), "--on", "glibc,heapwright", "--runs", "1", "--idle", "0", "--sites", "0"]
    assert run_command(words) == 0, capsys.readouterr().err


def test_an_allocator_whose_blocks_overlap_has_failed(
    record: Record, capsys: pytest.CaptureFixture[str]
) -> None:
    file = record("replayed_loads", "staggered").paths()[0]
    capsys.readouterr()
    on = programs / "lab_allocators/overlapping.so"
    words = [
        "replay",
        str(file),
        "--on",
        f"glibc,{on}",
        "--runs",
        "1",
        "--idle",
        "0",
        "--sites",
        "0",
        "--json",
    ]
    assert run_command(words) == 2
    said = capsys.readouterr()
    assert json.loads(said.out)["candidates"][1]["figures"] == {}, said.err
    assert "overlapping failed: a block changed while it lived: blocks overlap, or a call wrote" in said.err
