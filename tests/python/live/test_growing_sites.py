# SPDX-License-Identifier: MIT
"""The growing sites of a sampled process, from a trace that was taken while it ran."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from heapwright.live import growing
from heapwright.live.profiles import NoProfileError
from heapwright.live.show import growing_lines
from rich.console import Console
from written_traces import DELETE, NEW, MadeTrace

SECOND = 10**9
BLOCKS = 600


def running(path: Path) -> bytes:
    """Site 1 makes ten blocks a second for a minute, site 2 frees as many; site 3 keeps what it has."""
    made = MadeTrace(end=f"end 9 0 {60 * SECOND}")
    for site in range(3):
        start = 0x400000 + site * 0x100000
        made.line("module", start, start + 0x100000, start, f"/opt/site{site + 1}.so", f"aa{site:04x}")
        made.line("frame", start + 0x1000, site).line("stack", 0, site)
    for block in range(BLOCKS):
        made.event(NEW, 0x2000_0000 + 0x1000 * block, 4000, at=1600 + 16 * block, stack=2)
    made.event(NEW, 0x3000_0000, 1_000_000, at=20_000, stack=3)
    for block in range(BLOCKS):
        at = SECOND // 10 * (block + 1) // 16 * 16
        made.event(NEW, 0x1000_0000 + 0x1000 * block, 4000, at=at, stack=1)
        made.event(DELETE, 0x2000_0000 + 0x1000 * block, at=at + 160)
    return made.write(path).read_bytes()


def test_only_sites_that_surely_grow_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    profile = running(tmp_path / "running.heapwright")
    monkeypatch.setattr(growing, "copy_profile", lambda _: profile)
    found = growing.growing_sites(7)
    assert found is not None
    (site,) = found["sites"]
    assert site["library"] == "site1.so" or "site1.so" in site["name"]
    assert site["growth_bytes_per_s"] == pytest.approx(40_000, rel=0.1)
    assert site["live_bytes"] == pytest.approx(BLOCKS * 4000, rel=0.05)
    assert found["until_ns"] == 60 * SECOND


def test_a_process_without_samples_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: int) -> bytes:
        raise NoProfileError

    monkeypatch.setattr(growing, "copy_profile", none)
    assert growing.growing_sites(7) is None
    monkeypatch.setattr(growing, "copy_profile", lambda _: b"no trace")
    assert growing.growing_sites(7) is None


def test_what_takes_long_is_read_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 0.0
    reads = []

    def slowly(process: int) -> dict[str, object]:
        nonlocal now_s
        reads.append(process)
        now_s += 0.5
        return {"sites": [], "until_ns": len(reads)}

    monkeypatch.setattr(growing, "growing_sites", slowly)
    monkeypatch.setattr(growing.time, "monotonic", lambda: now_s)
    sites = growing.GrowingSites()
    assert sites.of(7) == {"sites": [], "until_ns": 1}
    now_s = 5.4
    assert sites.of(7) == {"sites": [], "until_ns": 1}
    assert sites.of(8) == {"sites": [], "until_ns": 2}, "another process is read at once"
    now_s = 20.0
    assert sites.of(8) == {"sites": [], "until_ns": 3}
    assert reads == [7, 8, 8]


@pytest.mark.parametrize("kind", ["leak", "warm-up"])
def test_a_function_is_told_from_others_at_eighty_columns(kind: str) -> None:
    site = {
        "growth_bytes_per_s": 270_000.0,
        "begin_bytes": 231 << 10,
        "live_bytes": 1 << 20,
        "kind": kind,
        "name": "(anonymous namespace)::keep_session  servers/planted_server.cpp:31",
    }
    out = io.StringIO()
    Console(file=out, width=80).print(growing_lines({"until_ns": 4_000_000_000, "sites": [site]}))
    assert "keep_session" in out.getvalue()
