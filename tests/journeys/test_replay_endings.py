# SPDX-License-Identifier: MIT
"""What a replay leaves when it is ended, and what is said where a limit of the system ends it."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import Record, collector, command
from heapwright.measure.own_folder import remove_left

REPLAY = collector.parent / "heapwright-replay"


@pytest.fixture(autouse=True)
def _temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEAPWRIGHT_BIN", str(collector.parent))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


@pytest.fixture
def file(record: Record) -> str:
    return str(record("replayed_loads", "staggered").paths()[0])


def left_in(folder: Path) -> list[Path]:
    return list(folder.glob("heapwright-replay-*"))


def begun(file: str, tmp_path: Path) -> subprocess.Popen[bytes]:
    """A replay that waits behind the last call."""
    words = [command, "replay", file, "--on", "glibc", "--idle", "60"]
    process = subprocess.Popen(
        words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, preexec_fn=as_from_a_terminal
    )
    for _ in range(600):
        if running(tmp_path):
            return process
        time.sleep(0.1)
    process.kill()
    raise AssertionError(process.communicate()[1])


def as_from_a_terminal() -> None:
    """A replay obeys SIGHUP only where it is not ignored, which it is for tests that run under nohup."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def running(tmp_path: Path) -> list[int]:
    """Runs of plans in the folder."""
    found = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = line.read_bytes()
        except OSError:
            continue
        if words.startswith(os.fsencode(REPLAY)) and b"\0run\0" + os.fsencode(tmp_path) in words:
            found.append(int(line.parent.name))
    return found


def are_gone(tmp_path: Path) -> bool:
    """A run that was only just started ends with its parent, and not before."""
    for _ in range(100):
        if not running(tmp_path):
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_end_leaves_nothing(file: str, tmp_path: Path, number: signal.Signals) -> None:
    process = begun(file, tmp_path)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert are_gone(tmp_path)
    assert left_in(tmp_path) == []


def test_a_run_ends_with_whoever_started_it(file: str, tmp_path: Path) -> None:
    process = begun(file, tmp_path)
    process.kill()
    process.communicate(timeout=60)
    assert are_gone(tmp_path)
    assert len(left_in(tmp_path)) == 1
    remove_left()
    assert left_in(tmp_path) == []


def test_a_run_that_nobody_reads_any_more_does_not_begin(file: str, tmp_path: Path) -> None:
    """Its parent process ended before the run could ask for a signal."""
    plan = tmp_path / "plan"
    subprocess.run([REPLAY, "plan", file, plan, "0"], capture_output=True, check=True)
    read_end, write_end = os.pipe()
    os.close(read_end)
    run = [REPLAY, "run", plan, "recorded", "60000", "1000"]
    assert subprocess.run(run, stdout=write_end, check=False, timeout=30).returncode == 1
    os.close(write_end)


def limited(file: str, which: int, most: int) -> str:
    words = [command, "replay", file, "--on", "glibc", "--quick"]
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(which, (most, most)),
    )
    assert done.returncode == 2
    return done.stderr


def test_a_limit_of_open_files_is_named(file: str) -> None:
    assert limited(file, resource.RLIMIT_NOFILE, 8).endswith(
        "too many open files; raise the limit (ulimit -n)\n"
    )


def test_a_limit_of_file_sizes_is_named(file: str) -> None:
    said = limited(file, resource.RLIMIT_FSIZE, 4096)
    assert "no room for the plan" in said
    assert "raise the limit of file sizes (ulimit -f)" in said
