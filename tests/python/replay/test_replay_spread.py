# SPDX-License-Identifier: MIT
"""Every figure with the spread of its runs; wall time and overhead, worked out by hand."""

from __future__ import annotations

import io
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from heapwright.cli import run_command
from heapwright.measure.allocators import Allocator
from heapwright.measure.runner import Arm
from heapwright.replay import spread
from replay_documents import document_of
from rich.console import Console
from test_replay_command import QUICK, made_trace

MEMORY = {"mark_bytes": [10.0, 70.0, 40.0]}
NEEDED = spread.Needed([0, 100, 300], [20.0, 50.0, 0.0], 400)


def arm(*runs: dict[str, Any], failure: str = "") -> Arm:
    return Arm(Allocator("x", "1", ""), False, list(runs), failure)


def time(elapsed_ns: float) -> dict[str, float]:
    return {"elapsed_ns": elapsed_ns, "p50_ns": 10.0, "p99_ns": 20.0, "max_ns": elapsed_ns / 2}


def test_wall_time_is_without_that_of_the_dry_run() -> None:
    dry = [{"elapsed_ns": ns} for ns in (100.0, 900.0, 200.0)]
    found = spread.of_arms(arm(), arm(time(700), time(150), time(900)), dry, None)
    assert asdict(found["wall_ns"]) == {"median": 500.0, "low": 0.0, "high": 700.0, "runs": 3}
    assert asdict(found["max_ns"]) == {"median": 350.0, "low": 75.0, "high": 450.0, "runs": 3}
    assert "overhead_bytes" not in found


def test_overhead_is_resident_less_what_is_needed_over_time_and_at_the_peak() -> None:
    """0 for 100 ns, 20 for 200 and 40 for the last 100; the largest overhead is not that of the peak."""
    more = {"mark_bytes": [30.0, 80.0, 40.0]}
    found = spread.of_arms(arm(MEMORY, more), arm(), (), NEEDED)
    assert asdict(found["overhead_bytes"]) == {"median": 23.75, "low": 20.0, "high": 27.5, "runs": 2}
    assert asdict(found["peak_overhead_bytes"]) == {"median": 25.0, "low": 20.0, "high": 30.0, "runs": 2}
    assert "wall_ns" not in found


def test_nothing_is_measured_of_what_failed_or_has_no_moment() -> None:
    failed = arm(MEMORY, failure="crashed: SIGSEGV")
    assert spread.of_arms(failed, arm(time(7), failure="hung"), [time(1)], NEEDED) == {}
    assert spread.of_arms(arm({"mark_bytes": []}), arm(), (), spread.Needed([], [], 0)) == {}


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(made_trace().write(tmp_path / "server.heapwright"))


WORDS = ["--on", "glibc", "--set", "glibc.arena_max=1", *QUICK]


def test_json_has_the_spread_and_the_reference_twice_the_runs(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["replay", file, *WORDS, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["moments"]["needed_bytes"] == [0.0, 200 * 3000.0]
    plain, other = document["candidates"]
    for candidate, runs in ((plain, 4), (other, 2)):
        measured = candidate["measured"]
        assert list(measured) == [measure.key for measure in spread.MEASURES]
        assert {figure["runs"] for figure in measured.values()} == {runs}
    raw = [run["elapsed_ns"] for run in other["runs"]["time"]]
    wall = other["measured"]["wall_ns"]
    assert 0 <= wall["low"] <= wall["high"] < max(raw)
    assert 0 < other["measured"]["peak_overhead_bytes"]["median"] < other["figures"]["peak_bytes"]["value"]


def test_with_a_change_no_overhead_is_told(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["replay", file, *QUICK, "--change", "arena@0", "--json"]
    assert run_command(words) == 0
    plain, changed = json.loads(capsys.readouterr().out)["candidates"]
    assert "overhead_bytes" in plain["measured"]
    assert "overhead_bytes" not in changed["measured"]
    assert "wall_ns" in changed["measured"]


def test_a_windows_wall_time_is_not_told(
    file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heapwright.cli.replay.QUICK_CALLS", 100)
    assert run_command(["replay", file, *WORDS, "--quick", "--json"]) == 0
    measured = json.loads(capsys.readouterr().out)["candidates"][1]["measured"]
    assert "wall_ns" not in measured
    assert "overhead_bytes" in measured


def document() -> dict[str, Any]:
    def candidate(name: str, wall_ms: int, calls: int) -> dict[str, Any]:
        wall = {"median": wall_ms * 1e6, "low": 1e6, "high": 9e6, "runs": 3}
        counted = {"median": calls, "low": 0, "high": calls}
        kernel = {"faults": counted, "voluntary_switches": counted, "involuntary_switches": counted}
        kernel["system_calls"] = {"mmap": {"calls": counted, "ns": counted}}
        return {"name": name, "figures": {}, "measured": {"wall_ns": wall}, "kernel": kernel}

    names = (("glibc", 2, 40), ("glibc mmap_threshold=32768,trim_threshold=1", 3, 0))
    return {"reference": "glibc", "runs": 3, "candidates": [candidate(*values) for values in names]}


def test_what_none_is_measured_of_is_left_out() -> None:
    found = [(row["figure"], row["candidate"]) for row in spread.rows(document_of(document()))]
    assert found[:3] == [
        ("wall time", "glibc"),
        ("wall time", "glibc mmap_threshold=32768,trim_threshold=1"),
        ("page faults", "glibc"),
    ]
    assert found[-2:] == [("mmap calls", "glibc"), ("mmap time", "glibc")]


@pytest.mark.parametrize("width", [60, 100])
def test_figures_are_headings_and_fit(width: int) -> None:
    out = io.StringIO()
    spread.detail(document_of(document())).on_console(Console(file=out, width=width, highlight=False))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    rows = lines[lines.index("wall time") + 1 :]
    assert rows[0].startswith("  glibc ") and "2.00 ms" in rows[0]
    assert rows[1].startswith("  glibc mmap_threshold=32768,trim_threshold=1 ")
    assert rows[2] == "page faults"
    # Where not all columns fit, the others stand in a table of their own, under the same headings.
    assert lines.count("wall time") == {60: 3, 100: 1}[width]


def test_markdown_has_a_row_for_each(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["replay", file, *WORDS, "--spread", "--md"]) == 0
    said = capsys.readouterr().out
    assert "Median, minimum and maximum in 2 runs of each candidate, 4 of glibc" in said
    assert "| figure | allocator | median | least | most |" in said
    for figure in ("wall time", "overhead", "CPU time", "page faults"):
        assert f"| {figure} | glibc arena_max=1 | " in said
