# SPDX-License-Identifier: MIT
"""What the recorder maps in a program is small, so that a program at its limits runs as it would alone."""

from __future__ import annotations

import os
import resource
import shutil
from pathlib import Path

import pytest
from conftest import Record, differences, programs

LOCKABLE_BYTES = 24 << 20


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
    """16 MiB are left beyond what the program, its stack and its libraries take."""
    line = f"ulimit -v 32768; exec {programs / 'pairs'} 1000 5 1"
    recording = record(Path("/bin/sh"), "-c", line)
    assert recording.status == 0, recording.errors
    named = [trace for trace in recording.traces() if trace.path.name.startswith("pairs")]
    assert len(named) == 1, recording.errors
    assert named[0].problems() == []
