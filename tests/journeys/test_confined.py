# SPDX-License-Identifier: MIT
"""A program under a strict seccomp filter ends as it would alone, and its calls are all recorded.

The filter kills at any system call but write and exit, also at those of the recorder.
"""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import Record, collector, differences, end_replaced, find_child, programs

PAIRS = 100_000  # twenty rings
GOOD = 4


@pytest.mark.parametrize("way", ["prctl", "syscall", "raw", "soon"])
def test_the_recorder_asks_nothing_of_the_kernel(record: Record, way: str) -> None:
    alone = subprocess.run([programs / "confines_itself", way, str(PAIRS)], check=False, capture_output=True)
    assert alone.returncode == GOOD
    recording = record("confines_itself", way, PAIRS)
    assert recording.status == GOOD, recording.errors
    assert recording.output == alone.stdout.decode()
    assert differences(recording.said, recording.traces()) == []
    assert recording.trace().problems() == []


def test_a_filter_beside_an_inherited_one_is_seen(record: Record) -> None:
    recording = record("confines_and_execs", programs / "confines_itself", "raw", PAIRS)
    assert recording.status == GOOD, recording.errors
    assert differences(recording.said, recording.traces()) == []


@pytest.mark.parametrize("children", [[], ["--children"]])
def test_a_child_that_is_not_recorded_confines_itself(record: Record, children: list[str]) -> None:
    """It has the recorder's hooks, too, and they may not ask who it is."""
    recording = record("confines_itself", "prctl", PAIRS, "fork", "child", options=children)
    assert recording.status == GOOD, recording.errors


def test_a_thread_without_a_clock_is_counted(record: Record) -> None:
    """The strict mode takes the time stamp counter as well: what cannot be recorded is counted."""
    recording = record("confines_itself", "strict", PAIRS)
    assert recording.status == GOOD, recording.errors
    assert recording.trace().count("allocated", "malloc", 28001) == 100
    assert recording.trace().facts["dropped"] == 2 * PAIRS


@pytest.mark.parametrize("way", ["prctl", "syscall"])
@pytest.mark.parametrize("children", [[], ["--children"]])
def test_threads_and_children_of_a_thread_without_a_clock(
    record: Record, way: str, children: list[str]
) -> None:
    """They inherit that they may not read the time stamp counter: the kernel would kill them for it."""
    recording = record("gives_up_clock", way, options=children)
    assert recording.status == GOOD, recording.errors
    trace = next(trace for trace in recording.traces() if trace.count("allocated", "malloc", 28001))
    assert trace.count("allocated", "malloc", 28001) == 100
    assert trace.count("allocated", "malloc", 28002) == 0
    assert trace.facts["dropped"] >= 200


def test_a_confined_program_forks(record: Record) -> None:
    recording = record("confines_itself", "prctl", PAIRS, "fork", options=["--children"])
    assert recording.status == GOOD, recording.errors
    assert recording.note("child") == 0
    assert differences(recording.said, recording.traces()) == []
    assert "a seccomp filter of its parent may kill it" in recording.errors


@pytest.mark.parametrize("children", [[], ["--children"]])
def test_a_confined_program_becomes_another(record: Record, children: list[str]) -> None:
    recording = record("confines_and_execs", programs / "pairs", "200", "5", "1", options=children)
    assert recording.status == 0, recording.errors
    launcher, target = recording.traces()
    assert launcher.count("allocated", "malloc", 28005) == 1
    assert launcher.facts["end_reason"] == end_replaced
    assert differences(recording.said, [target]) == []


@pytest.mark.parametrize("way", ["prctl", "none"])
def test_a_killed_collector_holds_nobody_up(tmp_path: Path, way: str) -> None:
    """Seen in the memory alone: the kernel marks there that the collector has died."""
    target = [programs / "confines_itself", way, "3000000"]
    if way == "none":
        target = [programs / "pairs", "3000000", "5", "1"]
    path = tmp_path / "x.heapwright"
    line = [str(word) for word in [collector, "--output", path, "--", *target]]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
        find_child(run.pid, Path(target[0]).name)
        while not path.exists() or path.stat().st_size < 100_000:
            time.sleep(0.002)
        run.send_signal(signal.SIGKILL)
        assert run.stdout is not None
        said = run.stdout.read().decode()  # until the program, whose output it is, has ended
    assert ("released 3000000" if way != "none" else "ns_per_pair") in said
