# SPDX-License-Identifier: MIT
"""Times with the program's gaps: worked out by hand, and as users type it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from heapwright.cli import run_command
from heapwright.measure.allocators import Allocator
from heapwright.measure.runner import Arm
from heapwright.measure.verdict import BETTER, SAME, UNKNOWN, WORSE
from heapwright.replay import own_load, show
from heapwright.replay.decision import Table
from heapwright.replay.result import Document, Times
from replay_documents import document_of, typed
from test_replay_decision import document as decided
from written_traces import FREE, MALLOC, MadeTrace

QUICK = ["--on", "glibc", "--set", "glibc.arena_max=1", "--idle", "0"]


def run(
    calls_ms: float, touch_ms: float = 0.0, late: float = 0.0, p999_ns: float = 100.0
) -> dict[str, float]:
    return {
        "calls": 100.0,
        "calls_ns": calls_ms * 1e6,
        "touch_ns": touch_ms * 1e6,
        "late_calls": late,
        "p50_ns": 10.0,
        "p99_ns": 50.0,
        "p999_ns": p999_ns,
        "max_ns": 900.0,
        "cpu_ns": 7e6,
    }


def arms(*runs: list[dict[str, float]]) -> list[Arm]:
    made = [Arm(Allocator(name, "1", ""), False, list(own)) for name, own in zip("abc", runs, strict=False)]
    made.insert(1, Arm(made[0].allocator, True, list(made[0].runs)))
    return made


def verdict(gaps: list[Arm], error_ns: float = 0.0) -> dict[str, Any]:
    """At full speed both take the same."""
    same = arms([run(1)] * 3, [run(1)] * 3)
    found = Table([], same, {}, None, None, None, gaps, error_ns).figures_of(1)
    return {key: asdict(figure) for key, figure in found.items()}


def test_a_verdict_is_of_the_load_that_it_was_measured_at() -> None:
    figures = verdict(arms([run(5)] * 3, [run(2, 1)] * 3))
    assert figures["time_ns"]["verdict"] == SAME
    assert figures["gaps_time_ns"]["verdict"] == BETTER
    assert figures["gaps_time_ns"]["value"] == 3e6  # writing to fresh pages is in it
    assert figures["gaps_time_ns"]["relative_difference"] == pytest.approx(-0.4)


@pytest.mark.parametrize(("late", "found"), [(50, BETTER), (51, UNKNOWN)])
def test_a_load_that_is_not_kept_ranks_nothing(late: float, found: str) -> None:
    assert verdict(arms([run(5)] * 3, [run(3, late=late)] * 3))["gaps_time_ns"]["verdict"] == found
    of_reference = arms([run(5, late=late, p999_ns=300)] * 3, [run(5)] * 3)
    assert verdict(of_reference)["gaps_p999_ns"]["verdict"] == found
    both = decided()
    figures = both["candidates"][1]["figures"]
    figures["gaps_time_ns"] = {**figures["time_ns"], "verdict": UNKNOWN}
    assert show.verdict(document_of(both | {"gaps": {"candidates": []}, "runs": 3}))[1] == (
        "The program's load could not be kept, so time with gaps is not ranked."
    )


def test_less_than_the_replays_error_is_no_difference() -> None:
    assert verdict(arms([run(5)] * 3, [run(3)] * 3), 2.5e6)["gaps_time_ns"]["verdict"] == SAME


def test_the_tail_is_that_of_the_runs_with_gaps() -> None:
    figures = verdict(arms([run(5, p999_ns=400)] * 3, [run(5, p999_ns=300)] * 3))
    assert figures["p999_ns"]["value"] == 100
    assert figures["gaps_p999_ns"]["value"] == 300
    assert figures["gaps_p999_ns"]["verdict"] == BETTER


def test_without_gaps_there_are_no_such_figures() -> None:
    assert "gaps_time_ns" not in verdict([])
    assert own_load.describe([], 1, 0, {}) is None


def test_the_error_is_that_of_the_calls_sum_beside_the_recorded_one() -> None:
    sums = {"malloc": 4e6, "free": 2e6, "mmap": 9e9}  # the last one is no heap call
    recorded = {name: typed(Times, {"sum_ns": sum_ns}) for name, sum_ns in sums.items()}
    found = own_load.describe(arms([run(5, 1)] * 3, [run(1, late=40)] * 3), 2, 8e6, recorded, 5e5)
    assert found is not None
    assert (found.recorded_ns, found.replayed_ns, found.error_ns) == (5.5e6, 5e6, 5e5)
    assert [own.late_share for own in found.candidates] == [0, 0.4]


def document(late: float) -> Document:
    gaps = own_load.describe(arms([run(5)] * 3, [run(1, late=late)] * 3), 2, 8e6, {})
    return document_of({"gaps": gaps, "reference": "a"})


def test_a_load_that_is_not_kept_is_said() -> None:
    (kept,) = own_load.about(document(late=1))
    assert "2 times as fast (4.00 ms)" in kept
    assert "late" not in kept
    late = own_load.about(document(late=40))[1]
    assert late.startswith("Calls that began more than 50 µs late")
    assert "processor: b 40.0 %; to that extent the load is not the program's." in late


def test_a_winner_at_the_programs_load_goes_before_one_at_full_speed() -> None:
    both = decided()
    figures = both["candidates"][1]["figures"]
    figures["peak_bytes"]["verdict"] = SAME
    worse = {"verdict": WORSE, "difference": 1e6, "relative_difference": 0.2, "value": 6e6}
    better = {"verdict": BETTER, "difference": -2e6, "relative_difference": -0.4, "value": 3e6}
    figures["time_ns"] |= worse
    both["gaps"] = {"candidates": []}
    figures["gaps_time_ns"] = {**figures["time_ns"], **better}
    assert show.verdict(document_of(both))[:2] == [
        "No candidate has less time in the heap at full speed than a.",
        "b has less time in the heap at the program's load: −40 % (2.00 ms); its price: CPU time +20 %.",
    ]
    assert show.next_command(document_of(both)) == (
        "heapwright try x.heapwright --remedy on:b -- PROGRAM   (measures what b run does)"
    )


@pytest.fixture
def file(tmp_path: Path) -> str:
    made = MadeTrace()
    made.meta("program", "/opt/shop/server").meta("allocator", "glibc 2.36 (/lib/libc.so.6)")
    made.meta("process_id", 100).line("thread", 0, 100, "main", 0, 0)
    for number in range(300):
        made.event(MALLOC, 0x10000 + 4096 * number, 300)
    for number in range(300):
        made.event(FREE, 0x10000 + 4096 * number)
    made.line("memory", 1000, 100_000)
    return str(made.write(tmp_path / "server.heapwright"))


def test_both_loads_are_in_the_document(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["replay", file, *QUICK, "--gaps", "--speed", "0.5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["gaps"]["rate"] == 0.5
    assert found["gaps"]["program_ns"] > 0
    assert [own["name"] for own in found["gaps"]["candidates"]] == ["glibc", "glibc arena_max=1"]
    for candidate in found["candidates"]:
        assert len(candidate["runs"]["gaps"]) == len(candidate["runs"]["time"]) == 3
        assert "cpu_ns" not in candidate["runs"]["gaps"][0]
        assert candidate["figures"]["gaps_time_ns"]["value"] > 0
    elapsed_ns = found["candidates"][0]["runs"]["gaps"][0]["elapsed_ns"]
    assert elapsed_ns >= 2 * found["gaps"]["program_ns"]


def test_times_and_verdicts_say_which_load_they_are_of(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["replay", file, *QUICK, "--gaps", "--md"]) == 0
    text = capsys.readouterr().out
    said = " ".join(text.split())
    assert "time with gaps" in said.split("|")[0] or "at the program's load" in said.split("|")[0]
    assert "| at the program's load | time | p50 | p99 | p99.9 |" in said
    assert "At the program's load: each call begins when the program's did" in said
    assert run_command(["replay", file, *QUICK, "--runs", "1", "--md"]) == 0
    assert "program's load" not in capsys.readouterr().out


def test_gaps_that_take_longer_than_a_run_may_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = MadeTrace().meta("program", "/opt/x").meta("allocator", "glibc 2.36 (/lib/libc.so.6)")
    made.event(MALLOC, 0x1000, 40).end = "end 1 0 50000000000"
    file = str(made.write(tmp_path / "long.heapwright"))
    assert run_command(["replay", file, "--on", "glibc", "--gaps", "--limit", "10"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "takes 50.0 s, --limit allows 10 s: use --speed 5" in line
