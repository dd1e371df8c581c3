# SPDX-License-Identifier: MIT
"""Sites beside each other: gone, added, renamed, taken in by their caller."""

from __future__ import annotations

from heapwright.compare.matching import Key
from heapwright.compare.recorded import Run, SiteOfRun
from heapwright.compare.sites import ADDED, BOTH, GONE, INLINED, RENAMED, Pair, pairs_of
from heapwright.model import Location


def run(library: str = "", **sites: tuple[int, int, str]) -> Run:
    """Calls, bytes and caller of each function."""
    found = {}
    for name, (calls, size, caller) in sites.items():
        figures = {
            "calls": calls,
            "bytes": size,
            "peak_live_bytes": 0,
            "live_at_end_bytes": 0,
            "time_ns": calls,
        }
        found[Key(library, name)] = SiteOfRun(figures, (Location(name, "", 0, False, "shop"),), caller)
    return Run({}, found, 1000, 1, 1)


def rows(a: Run, b: Run) -> dict[str, Pair]:
    return {pair.key.function: pair for pair in pairs_of([a], [b])}


def test_gone_and_added() -> None:
    found = rows(
        run(parse=(5, 50, "main"), old=(3, 30, "main")), run(parse=(6, 60, "main"), new=(4, 40, "main"))
    )
    assert {name: pair.state for name, pair in found.items()} == {"parse": BOTH, "old": GONE, "new": ADDED}
    assert (found["parse"].a["calls"], found["parse"].b["calls"]) == ([5], [6])
    assert (found["old"].a["calls"], found["old"].b["calls"]) == ([3], [0])


def test_equal_work_for_the_same_caller_is_a_new_name() -> None:
    found = rows(run(old=(3, 30, "serve")), run(new=(3, 30, "serve")))
    assert list(found) == ["new"]
    assert (found["new"].state, found["new"].was) == (RENAMED, "old")
    assert found["new"].a["calls"] == found["new"].b["calls"] == [3]


def test_equal_work_for_another_caller_is_no_new_name() -> None:
    found = rows(run(old=(3, 30, "serve")), run(new=(3, 30, "load")))
    assert {pair.state for pair in found.values()} == {GONE, ADDED}


def test_a_caller_with_a_new_name_is_followed() -> None:
    a = run(request=(9, 99, "main"), make=(3, 30, "request"), add=(4, 50, "make"), other=(7, 70, "make"))
    b = run(serve=(9, 99, "main"), build=(3, 30, "serve"), push=(4, 50, "build"), far=(7, 70, "main"))
    was = {name: pair.was for name, pair in rows(a, b).items()}
    assert was == {"serve": "request", "build": "make", "push": "add", "other": "", "far": ""}


def test_a_library_with_another_name() -> None:
    found = rows(run("old", start=(1, 8, "main")), run("new", start=(1, 8, "main")))
    assert [pair.state for pair in found.values()] == [RENAMED]
    found = rows(run("old", start=(1, 8, "main")), run("new", begin=(1, 8, "main")))
    assert {pair.state for pair in found.values()} == {GONE, ADDED}


def test_two_with_equal_work_are_not_told_apart() -> None:
    found = rows(run(old=(3, 30, "serve")), run(new=(3, 30, "serve"), newer=(3, 30, "serve")))
    assert sorted(pair.state for pair in found.values()) == [ADDED, ADDED, GONE]


def test_a_function_that_its_caller_took_in() -> None:
    found = rows(run(serve=(10, 100, "main"), part=(3, 30, "serve")), run(serve=(13, 130, "main")))
    assert list(found) == ["serve"]
    assert (found["serve"].state, found["serve"].was) == (INLINED, "part")
    assert found["serve"].a["calls"] == found["serve"].b["calls"] == [13]
    assert found["serve"].a["time_ns"] == [13]


def test_a_function_that_was_taken_out_of_its_caller() -> None:
    found = rows(run(serve=(13, 130, "main")), run(serve=(10, 100, "main"), part=(3, 30, "serve")))
    assert (found["serve"].state, found["serve"].b["bytes"]) == (INLINED, [130])


def test_a_caller_that_allocated_nothing_itself() -> None:
    found = rows(run(part=(3, 30, "serve")), run(serve=(3, 30, "main")))
    assert (found["serve"].state, found["serve"].was) == (RENAMED, "part")


def test_a_caller_that_does_more_than_it_took_in_stays_apart() -> None:
    found = rows(run(serve=(10, 100, "main"), part=(3, 30, "serve")), run(serve=(14, 130, "main")))
    assert {name: pair.state for name, pair in found.items()} == {"serve": BOTH, "part": GONE}
