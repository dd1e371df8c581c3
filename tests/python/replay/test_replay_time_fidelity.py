# SPDX-License-Identifier: MIT
"""How far replayed times are from the recorded ones, worked out by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from heapwright.cli import run_command
from heapwright.model import KIND_NAMES, Trace
from heapwright.replay import time_fidelity
from heapwright.replay.result import Document, Times
from replay_documents import document_of
from test_replay_command import made_trace
from written_traces import FREE, MALLOC

MALLOCS = {"function": "malloc", "calls": 100, "sum_ns": 9000, "p50_ns": 80, "p99_ns": 300}
FREES = {"function": "free", "calls": 90, "sum_ns": 900, "p50_ns": 10, "p99_ns": 20}
Rows = Sequence[Mapping[str, Any]]


def times_of(rows: Rows) -> dict[str, Times]:
    kept = [{key: value for key, value in row.items() if key != "function"} for row in rows]
    return {row["function"]: Times(**own) for row, own in zip(rows, kept, strict=True)}


def compare(recorded: Rows, replayed: Rows, off_ns: int = 0) -> dict[str, Any] | None:
    found = time_fidelity.compare(times_of(recorded), times_of(replayed), off_ns)
    return found and asdict(found)


def said_of(found: Any) -> Document:
    return document_of({"time_fidelity": found, "reference": "glibc"})


def test_totals_are_those_of_functions_that_both_have() -> None:
    other = {"function": "calloc", "calls": 5, "sum_ns": 50, "p50_ns": 10, "p99_ns": None}
    found = compare([MALLOCS, FREES], [MALLOCS | {"sum_ns": 4050}, FREES, other])
    assert found is not None
    assert (found["recorded_ns"], found["replayed_ns"]) == (9900, 4950)
    assert found["relative_error"] == -0.5
    assert [row["function"] for row in found["functions"]] == ["malloc", "free"]
    assert found["functions"][0]["replayed"] == {"calls": 100, "sum_ns": 4050, "p50_ns": 80, "p99_ns": 300}


@pytest.mark.parametrize(
    ("mallocs", "frees", "is_same"),
    [
        ({"p50_ns": 120, "p99_ns": 200}, {}, True),
        ({"p50_ns": 121}, {}, False),
        ({"p99_ns": 199}, {}, False),
        ({"p99_ns": None}, {}, True),
        ({}, {"p50_ns": 1000}, True),  # with less than a tenth of the time
    ],
)
def test_the_shape_is_that_of_functions_that_take_the_time(
    mallocs: dict[str, Any], frees: dict[str, Any], is_same: bool
) -> None:
    found = compare([MALLOCS, FREES], [MALLOCS | mallocs, FREES | frees])
    assert found is not None
    assert found["is_same_shape"] is is_same
    (line,) = time_fidelity.about(said_of(found))
    assert ("the size of time differences is not reliable" in line) is not is_same


def test_the_error_is_what_the_sums_differ_by_and_the_tails_factor() -> None:
    replayed = [MALLOCS | {"sum_ns": 4000, "p99_ns": 60}, FREES | {"p99_ns": 1}]
    found = compare([MALLOCS, FREES], replayed, off_ns=900)
    assert found is not None
    assert (found["recorded_ns"], found["error_ns"], found["tail_factor"]) == (9000, 4100, 20.0)
    small = FREES | {"sum_ns": 90}  # with less than a tenth of the time
    found = compare([MALLOCS, small], [replayed[0], small | {"p99_ns": 1}])
    assert found is not None
    assert found["tail_factor"] == 5.0
    (line,) = time_fidelity.about(said_of(found))
    assert "otherwise less than 5.00 µs, and a factor of 5.0 in p99.9, is no difference" in line


@pytest.mark.parametrize(("sum_ns", "times"), [(18000, "0.5"), (4500, "2.0")])
def test_how_far_a_difference_is_that_of_the_program_is_said(sum_ns: int, times: str) -> None:
    found = compare([MALLOCS], [MALLOCS | {"sum_ns": sum_ns}])
    (line,) = time_fidelity.about(said_of(found))
    assert f"recorded calls take {times} times the replayed ones" in line


def test_no_call_is_said_to_take_no_time() -> None:
    replayed = [MALLOCS | {"p50_ns": 0.0, "p99_ns": None}]
    (line,) = time_fidelity.about(said_of(compare([MALLOCS | {"p50_ns": 4.0}], replayed)))
    assert "malloc: p50 < 4 ns and p99 unknown, recorded p50 4 ns and p99 300 ns" in line


def test_the_clock_is_taken_out_of_recorded_times() -> None:
    rare = {"function": "calloc", "calls": 5, "sum_ns": 30, "p50_ns": 6, "p99_ns": None}
    found = time_fidelity.Recorded(times_of([MALLOCS, rare]), 700, 500).without_clock(8.0)
    assert found.functions == {"malloc": Times(100, 8200, 72, 292), "calloc": Times(5, 0, 0, None)}
    assert found[1:] == (700, 500)


def test_what_is_not_known_is_not_compared() -> None:
    assert compare([], [MALLOCS]) is None
    assert compare([FREES], [MALLOCS]) is None
    assert time_fidelity.about(said_of(None)) == []


def test_recorded_times_stand_beside_replayed_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    readings = []
    begin = Trace.begin_plain_facts
    monkeypatch.setattr(
        Trace, "begin_plain_facts", lambda trace, *window: readings.append(window) or begin(trace, *window)
    )
    made = made_trace()
    for _ in range(3000):
        made.event(MALLOC, 0x9000, 100, took=48).event(FREE, 0x9000, took=48)  # more than reading any clock
    file = str(made.write(tmp_path / "server.heapwright"))
    assert run_command(["replay", file, "--on", "glibc", "--runs", "2", "--idle", "0", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    found = {row["function"]: row for row in document["time_fidelity"]["functions"]}
    assert found["malloc"]["recorded"]["calls"] == found["malloc"]["replayed"]["calls"] == 3200
    assert found["malloc"]["replayed"]["p99_ns"] > 0
    clock_ns = median(run["clock_ns"] for run in document["candidates"][0]["runs"]["time"])
    recorded = begin(Trace(Path(file))).take()
    whole = next(row.latency for row in recorded.by_kind if KIND_NAMES[row.kind] == "malloc")
    without_clock_ns = whole.sum_ns - clock_ns * whole.calls
    # The control's runs, which are not told of, count as well.
    assert found["malloc"]["recorded"]["sum_ns"] == pytest.approx(without_clock_ns, rel=0.2)
    assert found["malloc"]["recorded"]["sum_ns"] < whole.sum_ns - whole.calls
    assert readings == [()]  # of the whole trace
    assert run_command(["replay", file, "--on", "glibc", "--quick", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["time_fidelity"] is None
    monkeypatch.setattr("heapwright.cli.replay.QUICK_CALLS", 100)  # of a window calls are timed
    assert run_command(["replay", file, "--on", "glibc", "--quick", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["candidates"][0]["functions"]
    plan, times = document["plan"], document["time_fidelity"]
    assert readings[1:] == [(plan["begin_ns"], plan["end_ns"])]
    calls = [(row["recorded"]["calls"], row["replayed"]["calls"]) for row in times["functions"]]
    assert 80 < sum(recorded for recorded, _ in calls) <= 100
    assert all(abs(recorded - replayed) <= 1 for recorded, replayed in calls), (calls, plan)
