# SPDX-License-Identifier: MIT
"""What is said of an experiment's results, and which tables show them."""

from __future__ import annotations

from typing import Any

from heapwright.lab import catalogue, findings, tables
from heapwright.measure.experiment import Part

MEDIANS = {  # worked out by hand below
    "new and delete": {"glibc": (30.0, 90.0), "other": (60.0, 80.0)},
    "arena (ours)": {"glibc": (12.0, 45.0), "other": (10.0, 50.0)},
    "construction alone": {"glibc": (10.0, 20.0), "other": (10.0, 20.0)},
}


def arena() -> tuple[Part, dict[str, Any]]:
    (experiment,) = catalogue.choose("arena")
    part, _ = experiment.parts
    cases = []
    for name, by_allocator in MEDIANS.items():
        results = []
        for allocator, (later, first) in by_allocator.items():
            summary = {
                key: {"median": median, "rank": 1, "spread": 0.0, "runs": 2}
                for key, median in (("later_ns", later), ("first_ns", first))
            }
            results.append({"allocator": allocator, "summary": summary, "runs": [{}, {}], "failure": ""})
        cases.append({"name": name, "results": results, "noise": {}})
    return part, {"name": "arena", "cases": cases, "runs": 2}


def test_an_arena_is_set_beside_new_and_beside_what_nothing_can_go_below() -> None:
    said = findings.seen(*arena())
    expected = [
        "Later rounds: new and delete takes 2.5 times as long as arena (ours) on glibc, 2.5 to 6 times by",
        "Of the 12 ns of arena (ours) on glibc, construction alone is 10 ns: the largest possible gain is 3",
        "First round: new and delete takes 2 times as long as arena (ours) on glibc, 1.6 to 2 times by",
    ]
    for sentence in expected:
        assert sentence in said


def test_what_failed_is_not_compared() -> None:
    part, record = arena()
    for result in record["cases"][1]["results"]:
        result["summary"] = {}
    assert "takes" not in findings.seen(part, record)


def test_the_first_round_has_a_table_of_its_own() -> None:
    part, record = arena()
    shown = tables.of_allocators(part, record)
    assert [found.figure.key for found in shown if found.figure] == ["later_ns", "first_ns"]
    allocators = [{"name": name, "version": ""} for name in ("glibc", "other")]
    rows = tables.by_allocator(shown[1].columns, allocators).rows
    assert [[text for text, _ in row.cells] for row in rows] == [
        ["90 ns", "45 ns", "20 ns"],
        ["80 ns", "50 ns", "20 ns"],
    ]
