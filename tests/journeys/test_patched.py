# SPDX-License-Identifier: MIT
"""record --patch: programs that bring their allocator, recorded from their first instruction on."""

import os
import subprocess
from pathlib import Path

import pytest
from conftest import Record, differences, programs

exited = 1  # trace::EndReason


@pytest.mark.parametrize("program", ["inner_static", "inner_static_pie", "inner_prefixed"])
def test_every_call_of_an_allocator_inside_is_recorded(record: Record, program: str) -> None:
    recording = record(program, "7", options=["--patch"])
    assert recording.status == 7, recording.errors
    trace = recording.trace()
    assert differences(recording.said, [trace]) == []
    assert trace.facts["unknown_releases"] == 0
    assert trace.facts["dropped"] == 0
    assert {"attached\tyes", "patched\tat the first instruction"} <= set(trace.facts["conditions"])
    assert (trace.facts["end_reason"], trace.facts["end_status"]) == (exited, 7)
    is_beside_libcs = program == "inner_prefixed"
    assert ("malloc and free are not seen, only those to je_malloc" in recording.errors) == is_beside_libcs


def test_a_static_program_needs_no_option(record: Record) -> None:
    recording = record("inner_static", "7")
    assert recording.status == 7, recording.errors
    trace = recording.trace()
    assert differences(recording.said, [trace]) == []
    assert "patched\tat the first instruction" in trace.facts["conditions"]


def test_samples_of_an_allocator_inside(record: Record) -> None:
    """One per byte: every block."""
    recording = record("inner_prefixed", options=["--patch", "--sample", "1"])
    assert recording.status == 0, recording.errors
    trace = recording.trace()
    assert differences([line for line in recording.said if line[0] == "released"], [trace]) == []


def test_a_stripped_program_is_named_as_impossible(record: Record, tmp_path: Path) -> None:
    path = tmp_path / "stripped"
    subprocess.run(["strip", "-o", path, programs / "inner_static"], check=True)
    recording = record(path, options=["--patch"])
    assert (recording.status, recording.output, recording.paths()) == (2, "", [])
    assert "its executable is stripped" in recording.errors
    assert len(recording.errors.splitlines()) == 1


def test_a_program_without_an_allocator_is_not_for_it(record: Record) -> None:
    recording = record("pairs", options=["--patch"])
    assert (recording.status, recording.output, recording.paths()) == (2, "", [])
    assert recording.errors.endswith("in the executable; to record the C library's, leave out --patch\n")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (["--children"], "--patch records one process without its children: leave out --children"),
        (["--pid", str(os.getpid())], "--pid records a running process: leave out the program"),
    ],
)
def test_what_does_not_go_with_it(record: Record, more: list[str], why: str) -> None:
    recording = record("inner_static", options=["--patch", *more])
    assert (recording.status, recording.errors) == (2, f"heapwright: {why}\n")
