# SPDX-License-Identifier: MIT
"""Phases that a program named: found in its trace, and what they cost."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import heapwright
from heapwright.explain import phases
from heapwright.explain.annotations import Mark
from heapwright.explain.phases import phases_of
from test_explain import check, explained, printed
from written_traces import FREE, MALLOC, MadeTrace

BEGIN, END, POOL, TEXT = 88, 89, 90, 95


def say(made: MadeTrace, kind: int, name: str, thread: int = 0, *, address: int = 0, size: int = 0) -> None:
    made.event(kind, address, size, thread=thread, took=0, usable=0)
    spelling = name.encode()
    for first in range(0, len(spelling), 16):
        piece = spelling[first : first + 16].ljust(16, b"\0")
        size, usable = int.from_bytes(piece[:8], "little"), int.from_bytes(piece[8:], "little")
        made.event(TEXT, 0, size, thread=thread, took=0, usable=usable)


def made_trace(path: Path) -> heapwright.Trace:
    made = MadeTrace()
    say(made, BEGIN, "serving requests — äöü")
    made.event(MALLOC, 0x1000, 100, took=320)
    for number in range(3):
        say(made, BEGIN, "query")
        made.event(MALLOC, 0x2000 + 64 * number, 10, took=16)
        made.event(MALLOC, 0x8000 + 64 * number, 7, thread=1)
        made.event(FREE, 0x2000 + 64 * number)
        say(made, END, "query")
    say(made, POOL, "not a phase")
    made.event(MALLOC, 0, 5000)
    return heapwright.open(made.write(path / "made.heapwright"))


def test_costs_are_of_the_phase_and_its_thread(tmp_path: Path) -> None:
    document = explained(made_trace(tmp_path))
    check(document)
    serving, query = document["questions"]["phases"]["phases"]
    assert (serving["name"], serving["times"]) == ("serving requests — äöü", 1)
    assert (serving["allocations"], serving["requested_bytes"]) == (4, 130)
    assert serving["allocator_ns"] == 320 + 3 * 16
    assert (query["name"], query["times"]) == ("query", 3)
    assert (query["allocations"], query["requested_bytes"]) == (3, 30)
    assert query["allocator_ns"] == 48
    text = printed(document)
    assert "Phases that the program named" in text
    assert "serving requests — äöü" in text


def test_each_run_of_a_phase_is_told_in_order(tmp_path: Path) -> None:
    runs = explained(made_trace(tmp_path))["questions"]["phases"]["runs"]
    assert [run["name"] for run in runs] == ["serving requests — äöü", "query", "query", "query"]
    assert all(first["end_ns"] <= second["begin_ns"] for first, second in pairwise(runs[1:]))
    assert [run["requested_bytes"] for run in runs] == [130, 10, 10, 10]


def test_an_open_phase_lasts_to_the_end(tmp_path: Path) -> None:
    serving = explained(made_trace(tmp_path))["questions"]["phases"]["phases"][0]
    assert serving["duration_ns"] == 10_000_000 - 1600


def test_a_program_that_names_none_has_none(tmp_path: Path) -> None:
    made = MadeTrace().event(MALLOC, 0x1000, 100)
    document = explained(heapwright.open(made.write(tmp_path / "made.heapwright")))
    assert document["questions"]["phases"] == {"phases": [], "runs": []}
    assert phases.QUESTION.shown({"phases": [], "runs": []}, False) is None


def test_ends_close_the_innermost_phase_of_their_thread() -> None:
    runs = phases_of(
        [
            Mark(0, 10, "phase_begin"),
            Mark(0, 20, "phase_begin"),
            Mark(0, 30, "phase_end"),
            Mark(1, 25, "phase_end"),
        ],
        100,
    )
    assert [(run.begin_ns, run.end_ns, run.name) for run in runs] == [(10, 100, ""), (20, 30, "")]


def test_an_end_is_that_of_its_name() -> None:
    def mark(at: int, kind: str, name: str) -> Mark:
        found = Mark(0, at, kind)
        found.spelling = name.encode()
        return found

    begins = [mark(10, "phase_begin", "first"), mark(20, "phase_begin", "second")]
    ends = [mark(30, "phase_end", "first"), mark(40, "phase_end", "none"), mark(50, "phase_end", "second")]
    runs = phases_of(begins + ends, 100)
    assert [(run.name, run.begin_ns, run.end_ns) for run in runs] == [("first", 10, 30), ("second", 20, 50)]
