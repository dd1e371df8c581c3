# SPDX-License-Identifier: MIT
"""When a recording is called complete, and when it is not."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import heapwright
import pytest
from conftest import Record, collector, differences, programs
from heapwright.cli import run_command
from heapwright.model.wholeness import why_not_whole

LOADER = Path("/lib64/ld-linux-x86-64.so.2")
TCMALLOC = Path("/usr/lib/x86_64-linux-gnu/libtcmalloc.so.4")


def explained(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert run_command(["explain", str(path), "--unchecked"]) == 0
    return " ".join(capsys.readouterr().out.split())


def refused_by_gate(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    budget = tmp_path / "heap.toml"
    budget.write_text("[program]\ncalls = 1000000\n")
    assert run_command(["gate", str(budget), str(path)]) == 2
    return capsys.readouterr().err


def test_much_memory_of_its_own_beside_few_calls_is_not_complete(
    record: Record, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = record("own_pool", 128)
    assert differences(recording.said, recording.traces()) == []
    (path,) = recording.paths()
    text = explained(path, capsys)
    assert "complete: every call" not in text
    assert "128 MiB of its own mappings beside" in text
    assert "an allocator of its own is probably inside" in text
    assert "an allocator of its own is probably inside" in refused_by_gate(path, tmp_path, capsys)


def test_little_memory_of_its_own_leaves_the_recording_complete(
    record: Record, capsys: pytest.CaptureFixture[str]
) -> None:
    (path,) = record("own_pool", 32).paths()
    assert "complete: every call is in the trace" in explained(path, capsys)


def test_a_program_under_an_explicit_loader_is_recorded(record: Record) -> None:
    if not LOADER.exists():
        pytest.skip(f"there is no {LOADER}")
    recording = record(LOADER, programs / "own_pool", 1)
    assert recording.status == 0, recording.errors
    assert differences(recording.said, recording.traces()) == []
    assert recording.trace().problems() == []
    trace = heapwright.open(recording.paths()[0])
    assert str(programs / "own_pool") in [module.path for module in trace.modules]


@pytest.mark.skipif(not TCMALLOC.exists(), reason="libgoogle-perftools4 is not installed")
def test_the_allocators_helpers_lose_no_call(record: Record) -> None:
    """libtcmalloc looks at its caller's stack by libunwind, which maps memory within a malloc."""
    recording = record("pairs", 200, 5, 1, environment={"LD_PRELOAD": str(TCMALLOC)})
    assert recording.status == 0, recording.errors
    assert recording.trace().problems() == []


def test_a_recording_that_goes_on_is_not_called_damaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.heapwright"
    line = [collector, "--output", path, "--", programs / "churn", "1000000", "4"]
    with subprocess.Popen(
        [str(word) for word in line], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as run:
        try:
            deadline = time.monotonic() + 60
            while not (path.exists() and path.stat().st_size > 20_000) and time.monotonic() < deadline:
                time.sleep(0.05)
            trace = heapwright.open(path)
            assert trace.end.reason == "still_running"
            assert trace.damage == ()
            text = explained(path, capsys)
            assert "INCOMPLETE" not in text
            assert "except those of the last second or two" in text
        finally:
            run.send_signal(signal.SIGTERM)  # SIGINT is ignored in a background job
            run.wait(60)
    assert heapwright.open(path).end.reason != "still_running"


@pytest.mark.parametrize("seed", range(10))
def test_what_a_killed_collector_leaves_can_be_read(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.heapwright"
    line = [collector, "--output", path, "--quiet", "--", programs / "pairs", "20000", "5", "2"]
    with subprocess.Popen(
        [str(word) for word in line], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as run:
        time.sleep(random.Random(seed).uniform(0.0, 0.6))
        run.kill()
        run.wait()
    if not path.exists() or path.stat().st_size == 0:
        return
    trace = heapwright.open(path)
    if trace.end.reason != "missing":
        return
    assert why_not_whole(trace)
    assert "INCOMPLETE RECORDING" in explained(path, capsys)


def test_valgrind_is_told_apart(record: Record) -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    recording = record(Path(str(shutil.which("valgrind"))), programs / "own_pool", 1)
    assert "it ran under valgrind, which takes its heap calls: they are not seen" in recording.errors
