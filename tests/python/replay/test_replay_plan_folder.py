# SPDX-License-Identifier: MIT
"""What a replay leaves when it is ended, and what is said where a limit of the system ends it."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from heapwright.replay.plan_folder import plan_folder, remove_left
from lab_runs import program
from written_traces import FREE, MALLOC, MadeTrace

REPLAY = program.parent / "heapwright-replay"


@pytest.fixture(autouse=True)
def _temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


@pytest.fixture
def file(tmp_path: Path) -> str:
    """Memory is read at its begin and after a minute."""
    made = MadeTrace().meta("program", "/opt/x").meta("allocator", "glibc 2.36").meta("process_id", 100)
    made.line("thread", 0, 100, "main", 0, 0)
    for number in range(1000):
        made.event(MALLOC, 0x1000 + 4096 * number, 3000).event(FREE, 0x1000 + 4096 * number)
    made.line("memory", 1000, 100_000).line("memory", 60_000_000_000, 100_000)
    return str(made.write(tmp_path / "x.heapwright"))


def left_in(folder: Path) -> list[Path]:
    return list(folder.glob("heapwright-replay-*"))


def test_what_a_killed_replay_left_is_removed(tmp_path: Path) -> None:
    left = tmp_path / "heapwright-replay-left"
    left.mkdir()
    (left / "plan-0").write_text("plan")
    (left / "owner").touch()
    other = tmp_path / "heapwright-replay-of-nobody"
    other.mkdir()
    with plan_folder() as own:
        remove_left()
        assert sorted(left_in(tmp_path)) == sorted([own, other])
        assert own.is_dir()
    assert left_in(tmp_path) == [other]


def begun(file: str, tmp_path: Path) -> subprocess.Popen[bytes]:
    """A replay that waits for the recording's minute."""
    words = [sys.executable, "-m", "heapwright", "replay", file, "--on", "glibc", "--pace"]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    for _ in range(600):
        if running(tmp_path):
            return process
        time.sleep(0.1)
    process.kill()
    raise AssertionError(process.communicate()[1])


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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_end_leaves_nothing(file: str, tmp_path: Path, number: signal.Signals) -> None:
    process = begun(file, tmp_path)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert running(tmp_path) == []
    assert left_in(tmp_path) == []


def test_a_run_ends_with_whoever_started_it(file: str, tmp_path: Path) -> None:
    process = begun(file, tmp_path)
    process.kill()
    process.communicate(timeout=60)
    for _ in range(100):
        if not running(tmp_path):
            break
        time.sleep(0.1)
    assert running(tmp_path) == []
    assert len(left_in(tmp_path)) == 1
    remove_left()
    assert left_in(tmp_path) == []


def limited(file: str, which: int, most: int) -> str:
    words = [sys.executable, "-m", "heapwright", "replay", file, "--on", "glibc", "--quick"]
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
