# SPDX-License-Identifier: MIT
"""Two threads on the fragmenting load: locks of the default heap and of ours, alone and beside other work."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from attaching import Attached
from conftest import build, collector
from counting import ask, checked, library

# One arena for both threads, and no cache before it.
ONE_LOCK = {"GLIBC_TUNABLES": "glibc.malloc.arena_max=1:glibc.malloc.tcache_count=0"}
OUR_HEAP = f"{build / 'lib/libheapwright.so'}"
_FOREVER = "4000000000"
Row = dict[str, Any]


@contextmanager
def busy(loops: int) -> Iterator[None]:
    others = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(loops)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


@contextmanager
def two_threads(preload: str, **variables: str) -> Iterator[int]:
    """The fragmenting load on two threads, which share nothing but the heap; its process."""
    line = [str(collector.parent / "heapwright-lab"), "contention", "--iterations", _FOREVER]
    environment = {**os.environ, "LD_PRELOAD": preload, **variables}
    with subprocess.Popen(line, env=environment, stdout=subprocess.DEVNULL) as process:
        try:
            time.sleep(1)  # it fills its slots
            yield process.pid
        finally:
            process.kill()


def look(process: int, interval: str = "2") -> Row:
    result = ask("top", str(process), "--once", "--json", "--interval", interval)
    assert result.stdout, result.stderr
    (row,) = checked(result.stdout)["processes"]
    return dict(row)


# So few collisions per second cost nothing: the machine ran the threads one after the other.
_FEW = 20


def check_contended(process: int, seconds: int) -> Row:
    """By the last row, unless the kernel saw hardly a collision either."""
    before, began_s = _voluntary_switches(process), time.monotonic()
    row = look(process)
    while not row["is_contended"] and time.monotonic() < began_s + seconds:
        row = look(process)
    switches = (_voluntary_switches(process) - before) / (time.monotonic() - began_s)
    assert row["is_contended"] or switches < _FEW, (row, switches)
    return row


@pytest.mark.parametrize("loops", [0, 10])
def test_a_contended_heap_is_called_so_at_any_load(loops: int) -> None:
    """Beside other work its threads rarely run at once, and collisions are rare: it takes more looks."""
    with busy(loops), two_threads(str(library), **ONE_LOCK) as process:
        row = check_contended(process, 60)
    assert row["is_contended"] or loops, row
    assert 0 <= row["collisions_low_per_s"] <= row["collisions_per_s"] <= row["collisions_high_per_s"]


@pytest.mark.parametrize("loops", [0, 10])
@pytest.mark.parametrize("preload", ["", f":{OUR_HEAP}"])
def test_an_uncontended_heap_never_is(loops: int, preload: str) -> None:
    with busy(loops), two_threads(str(library) + preload, HEAPWRIGHT_HEAP_COUNTERS="1") as process:
        rows = [look(process) for _ in range(4)]
    assert not any(row["is_contended"] for row in rows), rows
    if preload:
        assert rows[-1]["is_contended"] is False, "our heap counts its collisions"
    assert rows[-1]["live_bytes"] > 0
    # A timed call that was stopped may be among them.
    assert sum(row["lost_ns_per_s"] for row in rows) < 0.1e9, rows


@pytest.mark.parametrize("loops", [0, 10])
def test_attached_counting_says_the_same(loops: int) -> None:
    with busy(loops), two_threads("", **ONE_LOCK) as contended, two_threads("") as other:
        attached, beside = Attached(contended), Attached(other)
        row = check_contended(contended, 60)
        uncontended = look(other)
        attached.end()
        beside.end()
    assert row["is_contended"] or loops, row
    assert not uncontended["is_contended"], uncontended


def test_collisions_agree_with_the_kernels_count() -> None:
    """The load never sleeps: each switch that its threads asked for was a wait for the lock."""
    with two_threads(str(library), **ONE_LOCK) as process:
        before, began_s = _voluntary_switches(process), time.monotonic()
        row = look(process, "6")
        switches = (_voluntary_switches(process) - before) / (time.monotonic() - began_s)
    # The command itself takes a moment before and after its looks.
    assert row["collisions_low_per_s"] / 2 <= switches <= row["collisions_high_per_s"] * 2, (row, switches)


def _voluntary_switches(process: int) -> int:
    texts = [file.read_text() for file in Path(f"/proc/{process}/task").glob("*/status")]
    lines = [line for text in texts for line in text.splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches:"))
