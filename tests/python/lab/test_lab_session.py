# SPDX-License-Identifier: MIT
"""Whole experiments: rankings, failures, repeatability."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from heapwright.cli import output_schemas
from heapwright.lab import catalogue
from heapwright.measure import results
from heapwright.measure.allocators import Shelf
from heapwright.measure.experiment import Experiment
from heapwright.measure.runner import Arm, Settings
from lab_runs import faulty, program, run

SLOW, WASTEFUL = str(faulty / "slow.so"), str(faulty / "wasteful.so")
CRASHING = str(faulty / "crashing.so")


def experiment(name: str, part: str = "", cases: int = 1, first: int = 0) -> Experiment:
    """The experiment with one part and some of its cases."""
    (found,) = catalogue.choose(name)
    chosen = next(p for p in found.parts if not part or p.name == part)
    return replace(found, parts=(replace(chosen, cases=chosen.cases[first : first + cases]),))


def order(document: dict[str, Any], key: str, case: int = 0) -> list[str]:
    """Allocators by rank; equal ones in the order of their names."""
    results_of_case = document["experiments"][0]["parts"][0]["cases"][case]["results"]
    return sorted(
        (r["allocator"] for r in results_of_case if key in r["summary"]),
        key=lambda name: next(
            (r["summary"][key]["rank"], name) for r in results_of_case if r["allocator"] == name
        ),
    )


@pytest.mark.parametrize(("name", "part"), [("latency", "mixed"), ("buffer-cache", "flat"), ("retain", "")])
def test_a_document_is_as_its_schema_says(name: str, part: str) -> None:
    """Of runs that fold and an allocator that fails, of runs with series, and of plain ones."""
    document = run([experiment(name, part)], ["glibc", CRASHING], Settings(runs=1, scale=0.003))
    (case,) = document["experiments"][0]["parts"][0]["cases"]
    assert part != "mixed" or [bool(result["failure"]) for result in case["results"]] == [False, True]
    assert part != "flat" or case["results"][0]["series"]
    kept = output_schemas.schema("lab")
    jsonschema.validate(document, kept)
    case["colour"] = "blue"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, kept)


@pytest.mark.parametrize(
    ("name", "part", "key", "scale"),
    [
        ("latency", "mean", "mean_ns", 0.02),
        ("latency", "mixed", "p50_ns", 0.01),
        ("free-cost", "", "total_ns", 0.01),
        ("arena", "", "later_ns", 0.02),
        ("small-vector", "", "ns_per_vector", 0.01),
        ("shared", "", "ns_per_object", 0.01),
        ("remote", "", "blocks_per_s", 0.003),
        ("buffer-cache", "flat", "ns_per_step", 0.1),
    ],
)
def test_a_slow_allocator_is_last_where_time_counts(name: str, part: str, key: str, scale: float) -> None:
    document = run([experiment(name, part)], ["glibc", "jemalloc", SLOW], Settings(runs=3, scale=scale))
    assert order(document, key)[-1] == "slow"


@pytest.mark.parametrize(
    ("name", "key", "scale"),
    [
        ("overhead", "overhead_bytes", 0.003),
        ("fragmentation", "overhead_ratio", 0.02),
        ("retain", "idle_ratio", 0.02),
    ],
)
def test_a_wasteful_allocator_is_last_where_memory_counts(name: str, key: str, scale: float) -> None:
    document = run([experiment(name)], ["glibc", "jemalloc", WASTEFUL], Settings(runs=2, scale=scale))
    assert order(document, key)[-1] == "wasteful"


def test_the_slow_one_is_not_blamed_for_memory() -> None:
    document = run([experiment("overhead", first=1)], ["glibc", SLOW], Settings(runs=2, scale=0.01))
    summaries = document["experiments"][0]["parts"][0]["cases"][0]["results"]
    assert {r["allocator"]: r["summary"]["overhead_bytes"]["rank"] for r in summaries} == {
        "glibc": 1,
        "slow": 1,
    }


def test_two_runs_agree_in_order() -> None:
    settings = Settings(runs=3, scale=0.005)
    memory = [
        run([experiment("overhead", first=1, cases=4)], ["glibc", "jemalloc", WASTEFUL], settings)
        for _ in range(2)
    ]
    for case in range(4):
        assert order(memory[0], "overhead_bytes", case) == order(memory[1], "overhead_bytes", case)
    time = [run([experiment("free-cost")], ["glibc", SLOW], settings) for _ in range(2)]
    assert order(time[0], "total_ns") == order(time[1], "total_ns") == ["glibc", "slow"]


def test_runs_take_turns_and_the_first_allocator_runs_against_itself() -> None:
    document = run([experiment("free-cost")], ["glibc", "jemalloc"], Settings(runs=4, scale=0.001))
    first, second = document["experiments"][0]["parts"][0]["cases"][0]["results"]
    assert (len(first["runs"]), len(first["control_runs"]), len(second["runs"])) == (4, 4, 4)
    assert "control_runs" not in second
    assert document["schema"] == results.SCHEMA


def test_crashing_and_hanging_allocators_are_results_and_stop_nobody() -> None:
    crashing, hanging = str(faulty / "crashing.so"), str(faulty / "hanging.so")
    chosen = [experiment("free-cost", cases=2), experiment("shared")]
    settings = Settings(runs=2, scale=0.01, limit_s=4)
    document = run(chosen, ["glibc", crashing, hanging], settings)
    lines = "\n".join(results.failures(document))
    assert "shared shared_ptr(new T): crashing crashed: SIGSEGV" in lines
    assert "shared shared_ptr(new T): hanging hung: no end after 4 s" in lines
    for record in document["experiments"]:
        for case in record["parts"][0]["cases"]:
            assert len(case["results"][0]["runs"]) == 2
            assert (
                case["results"][0]["summary"]["ns_per_object" if record["name"] == "shared" else "total_ns"][
                    "rank"
                ]
                == 1
            )


def test_a_control_run_that_fails_is_a_result_too() -> None:
    (allocator,) = Shelf(program).choose(["glibc"])
    found = experiment("free-cost")
    (part,) = found.parts
    control = Arm(allocator, True, failure="crashed: SIGSEGV")
    case = results.case_record(part, part.cases[0], {}, [Arm(allocator, False), control])
    document = {"experiments": [{"name": "free-cost", "parts": [{"cases": [case]}]}]}
    assert results.failures(document) == [
        f"free-cost {part.cases[0].name}: glibc (control run) crashed: SIGSEGV"
    ]


def test_too_little_memory_is_said_before_anything_runs() -> None:
    document = run([experiment("overhead")], ["glibc"], Settings(runs=1, scale=1000))
    assert "needs about" in document["experiments"][0]["problem"]
    assert "would fit" in document["experiments"][0]["problem"]


def test_an_experiment_that_cannot_run_does_not_stop_the_next() -> None:
    broken = replace(experiment("arena"), fixed={"rounds": "1"})
    document = run([broken, experiment("shared")], ["glibc"], Settings(runs=1, scale=0.001))
    assert "takes 2 or more" in document["experiments"][0]["problem"]
    assert document["experiments"][1]["parts"][0]["cases"][0]["results"][0]["runs"]


def test_no_permission_to_pin_names_the_way_out() -> None:
    document = run([experiment("arena")], ["glibc"], Settings(runs=1, scale=0.001, pin_cpu=1000))
    assert "cannot pin to CPU 1000" in document["experiments"][0]["problem"]
    assert "--no-pin" in document["experiments"][0]["problem"]


def test_folded_runs_report_the_minima_of_all() -> None:
    document = run([experiment("latency", "mixed")], ["glibc"], Settings(runs=3, scale=0.01))
    (result,) = document["experiments"][0]["parts"][0]["cases"][0]["results"]
    p50 = [r["p50_ns"] for r in result["runs"]]
    assert p50 == sorted(p50, reverse=True)
    assert result["summary"]["p50_ns"]["median"] == p50[-1]
