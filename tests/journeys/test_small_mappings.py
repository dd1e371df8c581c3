# SPDX-License-Identifier: MIT
"""What the recorder maps in a program is small, so that a program at its limits runs as it would alone."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import Record, collector, differences, find_child, programs

LOCKABLE_BYTES = 8 << 20


def test_a_program_that_locks_its_memory(record: Record) -> None:
    """Lanes and stacks are mapped as they come: also those are locked, and complete."""
    recording = record("locks_memory", 4)
    assert recording.note("error") == 0
    assert recording.note("peak_kib") < 32 << 10
    assert differences(recording.said, recording.traces()) == []
    assert recording.trace().problems() == []


@pytest.mark.skipif(os.getuid() != 0 or shutil.which("setpriv") is None, reason="needs root and setpriv")
@pytest.mark.skipif(
    -1 < resource.getrlimit(resource.RLIMIT_MEMLOCK)[1] < LOCKABLE_BYTES, reason="may not raise the limit"
)
def test_a_limit_of_locked_memory(record: Record, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    line = f"ulimit -l {LOCKABLE_BYTES >> 10}; exec setpriv --reuid 65534 --clear-groups {programs / 'locks_memory'} 0"
    recording = record(Path("/bin/sh"), "-c", line)
    assert recording.status == 0, recording.errors
    assert recording.note("error") == 0
    assert differences(recording.said, recording.traces()) == []


def test_a_limit_of_address_space(record: Record) -> None:
    """4 MiB are left beyond what the program, its stack and its libraries take."""
    line = f"ulimit -v 10240; exec {programs / 'pairs'} 1000 5 1"
    recording = record(Path("/bin/sh"), "-c", line)
    assert recording.status == 0, recording.errors
    named = [trace for trace in recording.traces() if trace.path.name.startswith("pairs")]
    assert len(named) == 1, recording.errors
    assert named[0].problems() == []


def test_a_limit_of_file_sizes_is_the_programs_own(record: Record) -> None:
    """The session's file of terabytes is the collector's."""
    line = f"ulimit -f 8; exec {programs / 'pairs'} 1000 5 1"
    recording = record(Path("/bin/sh"), "-c", line)
    assert recording.status == 0, recording.errors
    named = [trace for trace in recording.traces() if trace.path.name.startswith("pairs")]
    assert len(named) == 1, recording.errors
    assert named[0].problems() == []


def test_a_core_dump_has_nothing_of_the_recorder(tmp_path: Path) -> None:
    """All that is mapped of the session is kept out of dumps, whatever is mapped later."""
    line = [collector, "--output", tmp_path / "x.heapwright", "--", programs / "held_in_calloc"]
    with subprocess.Popen([str(word) for word in line], stdout=subprocess.PIPE) as run:
        child = find_child(run.pid, "held_in_calloc")
        try:
            assert run.stdout is not None
            run.stdout.readline()
            flags = session_flags(Path(f"/proc/{child}/smaps").read_text())
        finally:
            os.kill(child, signal.SIGKILL)
    assert len(flags) >= 3
    assert all("dd" in own for own in flags)


def session_flags(smaps: str) -> list[list[str]]:
    """VmFlags of each mapping of the session."""
    found = []
    is_ours = False
    for line in smaps.splitlines():
        if "-" in line.split()[0] and ":" not in line.split()[0]:
            is_ours = "/memfd:heapwright" in line
        elif is_ours and line.startswith("VmFlags:"):
            found.append(line.split()[1:])
    return found


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_a_program_under_valgrind_ends_as_alone(record: Record) -> None:
    line = ["--tool=none", "-q", programs / "exits_with", 6]
    recording = record(Path("/usr/bin/valgrind"), *line)
    assert recording.status == 6, recording.errors
    assert "valgrind" in recording.errors
