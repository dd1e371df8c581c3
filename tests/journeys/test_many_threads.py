# SPDX-License-Identifier: MIT
"""Hundreds of threads that live at the same time: nothing lost, little memory."""

import re
import subprocess
from pathlib import Path

import heapwright
import pytest
from conftest import collector, differences, find_child, programs, read_trace

pytestmark = pytest.mark.full


def held_bytes(process: int) -> int:
    """A process's share of what is resident: shared pages are divided among those that map them."""
    text = Path(f"/proc/{process}/smaps_rollup").read_text()
    found = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
    assert found is not None
    return int(found[1]) << 10


@pytest.mark.parametrize("threads", [500, 2000])
def test_memory_per_thread_is_bounded_and_no_call_lost(tmp_path: Path, threads: int) -> None:
    program = [str(programs / "many_threads"), str(threads), "3000", "wait"]
    path = tmp_path / "x.heapwright"
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as alone:
        assert alone.stdout is not None
        alone.stdout.readline()
        alone_bytes = held_bytes(alone.pid)
        alone.communicate("\n", timeout=120)
    line = [str(collector), "--quiet", "--output", str(path), "--", *program]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as recording:
        assert recording.stdout is not None
        recording.stdout.readline()
        child = find_child(recording.pid, "many_threads")
        added_bytes = held_bytes(child) + held_bytes(recording.pid) - alone_bytes
        output = recording.communicate("\n", timeout=240)[0]
    assert recording.returncode == 0
    trace = read_trace(path)
    assert differences([row.split() for row in output.splitlines()], [trace]) == []
    assert trace.problems() == []
    assert added_bytes <= (64 << 20) + threads * (64 << 10)
    # The report says what was seen from outside, within a quarter.
    assert heapwright.open(path).facts().recorder.peak_bytes == pytest.approx(added_bytes, rel=0.25)
