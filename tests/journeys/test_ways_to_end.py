# SPDX-License-Identifier: MIT
"""However a program ends, what it did before is readable, and its exit code is passed through."""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import Record, collector, differences, end_exited, end_killed, find_child, programs, read_trace


@pytest.mark.parametrize("code", [0, 1, 2, 42, 127, 255])
def test_the_exit_code_is_passed_through(record: Record, code: int) -> None:
    recording = record("exits_with", code)
    assert recording.status == code
    facts = recording.trace().facts
    assert (facts["end_reason"], facts["end_status"]) == (end_exited, code)


@pytest.mark.parametrize(
    ("way", "status", "reason", "detail"),
    [
        ("_exit", 9, end_exited, 9),
        ("quick_exit", 10, end_exited, 10),
        ("return", 11, end_exited, 11),
        ("abort", 134, end_killed, signal.SIGABRT),
        ("throw", 134, end_killed, signal.SIGABRT),
        ("kill", 137, end_killed, signal.SIGKILL),
        ("segfault", 139, end_killed, signal.SIGSEGV),
    ],
)
def test_everything_before_the_end_is_recorded(
    record: Record, way: str, status: int, reason: int, detail: int
) -> None:
    recording = record("ends_abruptly", way)
    assert recording.status == status, recording.errors
    trace = recording.trace()
    assert differences(recording.said, [trace]) == []
    assert trace.problems() == []
    assert (trace.facts["end_reason"], trace.facts["end_status"]) == (reason, detail)


@pytest.mark.parametrize("round_number", range(12))
def test_killed_at_a_random_moment(tmp_path: Path, round_number: int) -> None:
    line = [collector, "--output", tmp_path / "x.heapwright", "--", programs / "churn"]
    process = subprocess.Popen(
        [str(p) for p in line], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        child = find_child(process.pid, "churn")
        time.sleep(random.Random(round_number).uniform(0.0, 0.15))
        os.kill(child, signal.SIGKILL)
        output, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 128 + signal.SIGKILL, errors
    rounds = [int(row.split()[2]) for row in output.splitlines() if row.startswith("note rounds ")]
    paths = list(tmp_path.glob("*.heapwright"))
    if not paths and not rounds:
        return  # killed before its first heap call
    trace = read_trace(paths[0])
    assert trace.problems() == []
    assert trace.facts["end_reason"] == end_killed
    allocated = trace.count("allocated", "malloc", 3001)
    assert allocated >= (rounds[-1] if rounds else 0)
    assert 0 <= allocated - trace.count("released", "free", 3001) <= 1


def test_the_collector_killed_leaves_the_program_running(tmp_path: Path) -> None:
    line = [collector, "--output", tmp_path / "x.heapwright", "--", programs / "churn"]
    process = subprocess.Popen(
        [str(p) for p in line], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    child = find_child(process.pid, "churn")
    try:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.3)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=120)
        before = [process.stdout.readline() for _ in range(200)][-1]
        later = [process.stdout.readline() for _ in range(200)][-1]
        assert int(later.split()[2]) > int(before.split()[2])
    finally:
        os.kill(child, signal.SIGKILL)
        process.communicate(timeout=120)
    trace = read_trace(tmp_path / "x.heapwright")
    assert trace.facts["end_reason"] == 0
    assert trace.facts["gaps"] == 0
