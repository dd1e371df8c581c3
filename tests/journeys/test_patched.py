# SPDX-License-Identifier: MIT
"""record --patch: programs that bring their allocator, recorded from their first instruction on."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from attaching import changed_code
from conftest import Record, command, differences, programs
from recorded_processes import Recording

exited = 1  # trace::EndReason


@pytest.mark.parametrize("program", ["inner_static", "inner_static_pie", "inner_prefixed"])
def test_every_call_of_an_allocator_inside_is_recorded(record: Record, program: str) -> None:
    recording = record(program, "7", options=["--patch"])
    assert recording.status == 7, recording.errors
    trace = recording.trace()
    assert differences(recording.said, [trace]) == []
    assert trace.facts["unknown_releases"] == 0
    assert trace.facts["dropped"] == 0
    conditions = set(trace.facts["conditions"])
    assert "patched\tat the first instruction" in conditions
    assert "attached\tyes" not in conditions, "nothing of it ran before"
    assert (trace.facts["end_reason"], trace.facts["end_status"]) == (exited, 7)
    assert "not seen" not in recording.errors


def shares_of(path: Path) -> list[dict[str, Any]]:
    shares: list[dict[str, Any]] = document("explain", path, "--unchecked")["summary"]["allocators"]
    return shares


def test_both_allocators_of_a_program_are_recorded(record: Record) -> None:
    """With what libraries do before the program, and without what one does for the other."""
    recording = record("two_allocators", "7")
    assert recording.status == 7, recording.errors
    trace = recording.trace()
    assert differences(recording.said, [trace]) == []
    assert trace.problems() == []
    assert trace.facts["unknown_releases"] == 0
    assert "attached\tyes" not in trace.facts["conditions"], "nothing of it ran before"
    assert "not seen" not in recording.errors
    inside, libcs = shares_of(trace.path)
    assert inside["allocator"] == "jemalloc inside (je_malloc)"
    assert libcs["allocator"].startswith("glibc 2")
    assert (inside["live_at_end_blocks"], inside["live_at_end_bytes"]) == (1, 5001)
    assert inside["allocations"] == 4 * 500 * 4 + 1
    assert 7001 <= libcs["live_at_end_bytes"] < 9001
    assert 6002 <= libcs["allocations"] < 6100, "large blocks are the other's"
    calls = document("explain", trace.path, "--unchecked", "--question", "calls")["questions"]["calls"]
    functions = {one["function"] for one in calls["sites"]}
    assert "(anonymous namespace)::work(void*)" in functions
    assert not {one for one in functions if "je_" in one or "take" in one}, "the caller wanted it"
    assert len(document("info", trace.path)["allocators"]) == 2


def test_both_allocators_of_a_running_program_are_recorded(tmp_path: Path) -> None:
    """Twice: what is left of the first recording serves the second."""
    for number in range(2):
        with subprocess.Popen(
            [programs / "two_allocators", "waits"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdin is not None and process.stdout is not None
            assert process.stdout.readline() == "note ready 1\n"
            for _ in range(number):
                Recording(process.pid, tmp_path / "first").end()
            recording = Recording(process.pid, tmp_path / str(number))
            process.stdin.write("\n")
            process.stdin.flush()
            said = [process.stdout.readline().split() for _ in range(12)]
            trace = recording.end()
            assert changed_code(process.pid) == []
            process.stdin.close()
        assert process.returncode == 0
        assert differences(said, [trace]) == []
        assert trace.problems() == []
        assert trace.facts["allocator"] == "jemalloc inside (je_malloc)", "as when it is started"
        inside, libcs = shares_of(tmp_path / str(number))
        assert libcs["allocator"].startswith("glibc 2")
        assert inside["live_at_end_bytes"] == 5001


def test_a_static_program_needs_no_option(record: Record) -> None:
    recording = record("inner_static", "7")
    assert recording.status == 7, recording.errors
    trace = recording.trace()
    assert differences(recording.said, [trace]) == []
    assert "patched\tat the first instruction" in trace.facts["conditions"]


def document(kind: str, path: Path, *options: str) -> dict[str, Any]:
    line = [command, kind, path, "--json", *options]
    done = subprocess.run(line, capture_output=True, check=True, timeout=120)
    read: dict[str, Any] = json.loads(done.stdout)
    return read


def test_a_static_programs_stacks_are_whole(record: Record) -> None:
    """gcc -static links no table of unwind information: one is made for it."""
    recording = record("pins_static")
    assert recording.status == 0, recording.errors
    path = recording.trace().path
    assert document("info", path)["cut_stacks"] == []
    peak = document("explain", path, "--unchecked", "--question", "peak")["questions"]["peak"]
    (session,) = [row for row in peak["sites"] if row["function"] == "session"]
    assert [of["function"] for of in session["paths"][0]["callers"]][:1] == ["main"]


def test_the_kernel_tells_of_a_static_program_what_it_tells_of_others(record: Record) -> None:
    record("pairs")
    traces = record("inner_static").traces()
    assert len(traces) == 2
    states = [[line for line in of.facts["conditions"] if line.startswith("kernel_")] for of in traces]
    assert states[0] == states[1] != []


def test_a_program_that_lives_on_its_own_allocator_needs_no_option(record: Record) -> None:
    recording = record("inner_prefixed", "7")
    assert recording.status == 7, recording.errors
    trace = recording.trace()
    assert differences(recording.said, [trace]) == []
    assert "patched\tat the first instruction" in trace.facts["conditions"]


def test_without_permission_it_is_recorded_as_others_are(record: Record, tmp_path: Path) -> None:
    attacher = tmp_path / "refuses"
    attacher.write_text("#!/bin/sh\necho 'heapwright: process $2 is not recorded: no' >&2\nexit 2\n")
    attacher.chmod(0o755)
    recording = record("inner_prefixed", "7", options=["--attacher", attacher])
    assert recording.status == 7, recording.errors
    assert "so only its calls of the C library's malloc and free are recorded" in recording.errors
    assert "patched\tat the first instruction" not in recording.trace().facts["conditions"]


def test_without_the_attaching_program_it_is_recorded_as_others_are(record: Record, tmp_path: Path) -> None:
    """As after `make run`, which does not build it."""
    recording = record("inner_prefixed", "7", options=["--attacher", tmp_path / "missing"])
    assert recording.status == 7, recording.errors
    assert "build it (make build)" in recording.errors
    assert "so only its calls of the C library's malloc and free are recorded" in recording.errors


def test_an_output_that_cannot_be_written_is_one_line(record: Record, tmp_path: Path) -> None:
    recording = record("inner_prefixed", options=["--output", tmp_path / "no/trace"])
    assert (recording.status, recording.output) == (2, "")
    assert recording.errors.startswith("heapwright: the output folder ")
    assert recording.errors.count("\n") == 1


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
    assert recording.errors.endswith(
        "no library has one inside; to record the C library's, leave out --patch\n"
    )


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
