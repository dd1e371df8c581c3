# SPDX-License-Identifier: MIT
"""Two dumps of one process: what grew between, by site, from traces whose events are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from heapwright.compare.moments.document import between, make
from heapwright.model import Trace
from written_traces import DELETE, NEW, Command, MadeTrace

SECOND = 10**9
BLOCKS = 400
SIZE = 100_000
BASE = 0x10_0000_0000


def dump(path: Path, seconds: int, sample: int = 0, forgotten_s: int = 0, anonymous: int = 0) -> Path:
    """Up to a moment. Site 1 keeps ten blocks a second, 2 drops its own; 3 holds 400 of the start, and later drops one."""
    made = MadeTrace(end=f"end 9 0 {seconds * SECOND}")
    made.meta("program", "/opt/shop").meta("process_id", 77).meta("start_unix_ns", 5)
    made.meta("condition", "runtime\tPython")
    if sample:
        made.meta("sample_mean_bytes", sample)
    if forgotten_s:
        made.meta("forgotten_before_ns", forgotten_s * SECOND)
    if anonymous:
        made.line("memory", seconds * SECOND, anonymous)
    for site in range(3):
        start = 0x400000 + site * 0x100000
        made.line("module", start, start + 0x100000, start, f"/opt/site{site + 1}.so", f"aa{site:04x}")
        made.line("frame", start + 0x1000, site).line("stack", 0, site)
    for block in range(BLOCKS):
        made.event(NEW, BASE + 0x100000 * block, SIZE, at=1600 + 160 * block, stack=3)
    for number in range(10 * seconds - 1):
        at = SECOND // 10 * (number + 1) // 16 * 16
        made.event(NEW, 2 * BASE + 0x100000 * number, SIZE, at=at, stack=1)
        made.event(NEW, 3 * BASE, SIZE, at=at + 1600, stack=2)
        made.event(DELETE, 3 * BASE, at=at + 3200)
        if number == 50:
            made.event(DELETE, BASE, at=at + 4800)
    return made.write(path)


def moments(a: Path, b: Path) -> dict[str, Any]:
    return make(between(Trace(str(a)), Trace(str(b))), [])


def by_library(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["library"]: row for row in document["sites"]}


def test_every_call_gives_exact_figures(tmp_path: Path) -> None:
    found = moments(dump(tmp_path / "a", 4), dump(tmp_path / "b", 12))
    sites = by_library(found)
    assert list(sites) == ["site1.so", "site3.so"], "the largest growth first, and none of what was dropped"
    for row, grew in zip(sites.values(), (80 * SIZE, -SIZE), strict=True):
        assert row["difference_bytes"] == row["low_bytes"] == row["high_bytes"] == grew
    assert sites["site1.so"]["growth_bytes_per_s"] == 10 * SIZE
    assert found["total"]["difference_bytes"] == 79 * SIZE
    assert (found["span_ns"], found["unsure_sites"]) == (8 * SECOND, 0)


def test_samples_of_before_cancel(tmp_path: Path) -> None:
    """400 blocks of the start have an error of some 31 MB each way: 80 more would be chance."""
    mean = 4_000_000
    found = moments(dump(tmp_path / "a", 4, mean), dump(tmp_path / "b", 12, mean))
    row = by_library(found)["site1.so"]
    each = row["b_bytes"] - row["a_bytes"]
    assert each == row["difference_bytes"] > 40 * mean
    assert row["low_bytes"] > 0
    # Each block weighs about the mean: the deviation of 80 is that times the root of 80.
    assert row["high_bytes"] - row["difference_bytes"] == pytest.approx(1.96 * mean * 80**0.5, rel=0.1)
    assert "site3.so" not in by_library(found), "one sample is chance"
    assert "site2.so" not in by_library(found), "what comes and goes is the same"


def test_where_b_forgot_what_was_between_nothing_cancels(tmp_path: Path) -> None:
    mean = 4_000_000
    sure = moments(dump(tmp_path / "a", 4, mean), dump(tmp_path / "b", 12, mean))["total"]
    forgot = moments(dump(tmp_path / "c", 4, mean), dump(tmp_path / "d", 12, mean, forgotten_s=6))["total"]
    wide, narrow = (one["high_bytes"] - one["low_bytes"] for one in (forgot, sure))
    assert wide > 2 * narrow


@pytest.mark.parametrize(("more", "outside"), [(200, 200 * SIZE - 79 * SIZE), (100, 0), (80, 0)])
def test_anonymous_memory_beyond_live_bytes_is_told_of(tmp_path: Path, more: int, outside: int) -> None:
    first = 600 * SIZE
    found = moments(
        dump(tmp_path / "a", 4, anonymous=first), dump(tmp_path / "b", 12, anonymous=first + more * SIZE)
    )
    assert found["outside_bytes"] == outside
    assert ("PYTHONMALLOC=malloc" in found["outside_hint"]) == bool(outside)


def test_blocks_used_for_the_first_time_are_not_outside(tmp_path: Path) -> None:
    found = moments(
        dump(tmp_path / "a", 4, anonymous=100 * SIZE), dump(tmp_path / "b", 12, anonymous=300 * SIZE)
    )
    assert found["outside_bytes"] == 0


def test_the_command_tells_and_refuses(command: Command, tmp_path: Path) -> None:
    a, b = dump(tmp_path / "a.heapwright", 4), dump(tmp_path / "b.heapwright", 12)
    said = command("compare", str(a), str(b))
    assert said.out.startswith("In 8.00 s live bytes grew by 7.53 MiB (964 KiB/s); all of it at ")
    assert "+7.63 MiB  exact" in said.out
    assert said.err.startswith("next: heapwright explain ")
    assert json.loads(command("compare", str(a), str(b), "--json").out)["process"] == 77
    other = dump(tmp_path / "c.heapwright", 12, sample=4096)
    for line, reason in (
        ([str(b), str(a)], "name the earlier one first"),
        ([str(a), str(other)], "samples of different --sample"),
        ([str(a), str(b), "--advice"], "--advice applies to different runs"),
    ):
        refused = command("compare", *line)
        assert (refused.code, len(refused.err.splitlines())) == (2, 1), refused.err
        assert reason in refused.err
