# SPDX-License-Identifier: MIT
"""The documents that replay --json prints are as their schema says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from heapwright.cli import run_command, schemas
from heapwright.model import Trace
from lab_runs import faulty
from test_replay_command import made_trace
from written_traces import FREE, MALLOC

SCHEMA = schemas.of("replay")


@pytest.fixture
def file(tmp_path: Path) -> str:
    made = made_trace()
    for _ in range(3000):
        made.event(MALLOC, 0x9000, 100).event(FREE, 0x9000)
    return str(made.write(tmp_path / "server.heapwright"))


def replayed(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    run_command(["replay", *words, "--idle", "0", "--json"])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    return document


def test_sites_functions_and_settings(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = replayed(
        capsys, file, "--on", "glibc", "--set", "glibc.tcache_count=0", "--runs", "2", "--sites", "3"
    )
    assert document["candidates"][1]["call_sites"] and document["candidates"][1]["functions"]


def test_a_change(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    site = next(iter(Trace(Path(file)).sites())).number
    document = replayed(capsys, file, "--change", f"node_pool@{site}", "--runs", "2")
    assert document["changes"][0]["changed_blocks"]


def test_a_candidate_that_fails(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = replayed(capsys, file, "--on", f"glibc,{faulty}/crashing.so", "--runs", "2")
    assert "crashed" in document["candidates"][1]["failure"]


def test_a_single_run_of_what_has_no_readings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = made_trace().meta("allocator", "nobody's 1.0")
    document = replayed(capsys, str(made.write(tmp_path / "x.heapwright")), "--on", "glibc", "--quick")
    assert document["fidelity"] is None
