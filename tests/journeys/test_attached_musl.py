# SPDX-License-Identifier: MIT
"""A program with another C library, musl, recorded and counted while it runs."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from attaching import Attached, answer, changed_code, totals_of
from conftest import Record, command, programs, read_trace
from recorded_processes import Recording

pytestmark = pytest.mark.skipif(
    not (programs / "musl_program").exists(), reason="musl-tools were not installed at the build"
)


def cut_stacks(path: Path) -> list[str]:
    line = [command, "info", path, "--json"]
    cut: list[str] = json.loads(subprocess.run(line, capture_output=True, check=True, timeout=60).stdout)[
        "cut_stacks"
    ]
    return cut


@pytest.fixture(name="process")
def _process() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [str(programs / "musl_program"), "told"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def test_its_calls_are_recorded_with_their_stacks(process: subprocess.Popen[str], tmp_path: Path) -> None:
    for turn in range(3):
        recording = Recording(process.pid, tmp_path / f"{turn}.heapwright")
        answer(process)
        trace = recording.end()
        assert trace.problems() == []
        made = {
            (function, size): trace.count("allocated", function, size)
            for function, size in (
                ("malloc", 3001),
                ("malloc", 3011),
                ("realloc", 3013),
                ("calloc", 3015),
                ("posix_memalign", 3017),
                ("malloc", 3019),
            )
        }
        assert list(made.values()) == [8000, 1, 1, 1, 1, 0], made
        assert trace.count("released", "free", 3001) == 8000
        stacks = read_trace(trace.path, 3001).facts["stacks"]
        paths = {frame[0] if isinstance(frame, list) else frame for stack in stacks for frame in stack}
        assert any(path.endswith("/musl_program") for path in paths), paths
        assert cut_stacks(trace.path) == [], "musl has no tables, but its start code is known"
        assert changed_code(process.pid) == []
        answer(process)
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=30) == 3


def test_its_calls_and_threads_are_counted(process: subprocess.Popen[str]) -> None:
    attached = Attached(process.pid)
    answer(process)
    totals = totals_of(process.pid)
    attached.end()
    assert totals["made_blocks"] == 8003, totals  # realloc makes none
    assert totals["live_blocks"] == 0, totals
    assert 9 <= totals["threads_begun"] <= 161, (
        totals
    )  # at least: a new one may have the memory of an ended one
    assert changed_code(process.pid) == []
    answer(process)


def test_stacks_of_the_main_thread_and_of_others_are_whole(record: Record) -> None:
    """Preloaded: musl's loader is its C library, without tables."""
    recording = record("musl_program")
    assert recording.status == 3, recording.errors
    assert cut_stacks(recording.trace().path) == []
