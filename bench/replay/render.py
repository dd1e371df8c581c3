#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Puts bench/results/replay.json into docs/replay.md: see bench/documents.py for the options."""

from __future__ import annotations

import json
import sys
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

from heapwright.report import markdown, units

project = Path(__file__).resolve().parents[2]
sys.path.append(str(project / "bench"))
import documents  # noqa: E402
import sources  # noqa: E402

document_path = project / "docs/replay.md"
results_path = project / "bench/results/replay.json"
changes_path = project / "bench/results/replay_changes.json"
speed_path = project / "bench/results/replay_speed.json"


def error_of(predicted: float, real: float) -> str:
    share = 100 * (predicted - real) / real
    return f"{'−' if share < 0 else '+'}{abs(share):.1f} %"


def spread_of(real: list[int]) -> str:
    least, most = units.size(min(real)), units.size(max(real))
    return least if least == most else f"{least} to {most}"


SAID = {"better": "less", "worse": "more", "same": "=", "unknown": "?"}


def row_of(program: dict[str, Any], candidate: dict[str, Any]) -> list[str]:
    predicted, real = candidate["predicted_bytes"], candidate["real_bytes"]
    names = [program["name"], candidate["name"]]
    if predicted is None:
        return [*names, candidate["failure"], "", spread_of(real), "–", "–"]
    mean, real_means = candidate["predicted_mean_bytes"], candidate["real_mean_bytes"]
    is_reference = candidate["name"] == program["reference"]
    return [
        *names,
        units.size(predicted),
        "recorded" if is_reference else SAID[candidate["verdict"]],
        spread_of(real),
        error_of(predicted, median(real)),
        "–" if mean is None else error_of(mean, median(real_means)),
    ]


def compared(programs: list[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Each candidate with a prediction that is not what its program was recorded on, and its program."""
    return [
        (candidate, program)
        for program in programs
        for candidate in program["candidates"]
        if candidate["predicted_bytes"] is not None and candidate["name"] != program["reference"]
    ]


def is_real(verdict: str, candidate: list[int], reference: list[int]) -> bool:
    """Whether the candidate's real runs lie on the side that was said, all beyond all of the reference's."""
    if verdict == "better":
        return max(candidate) < min(reference)
    return min(candidate) > max(reference)


def about_verdicts(programs: list[dict[str, Any]]) -> str:
    """What was said to take less or more, and how many real runs agree."""
    said = [(one, of) for one, of in compared(programs) if one["verdict"] in ("better", "worse")]
    right = 0
    for candidate, program in said:
        (reference,) = (one for one in program["candidates"] if one["name"] == program["reference"])
        right += is_real(candidate["verdict"], candidate["real_bytes"], reference["real_bytes"])
    return f"Of {len(said)} verdicts of less or more, {right} are so in each real run."


def about_order(programs: list[dict[str, Any]]) -> str:
    """Pairs of candidates of one program whose real runs lie apart, with both predicted."""
    pairs = right = 0
    for program in programs:
        known = [one for one in program["candidates"] if one["predicted_bytes"] is not None]
        for first, second in combinations(known, 2):
            low, high = sorted((first, second), key=lambda one: median(one["real_bytes"]))
            if min(high["real_bytes"]) > 1.02 * max(low["real_bytes"]):
                pairs += 1
                right += low["predicted_bytes"] < high["predicted_bytes"]
    return f"Of {pairs} pairs of candidates with real runs over 2 % apart, {right} have the predicted order."


def about_errors(programs: list[dict[str, Any]]) -> str:
    found = [one for one, _ in compared(programs)]
    errors = [abs(one["predicted_bytes"] / median(one["real_bytes"]) - 1) for one in found]
    within = sum(error <= 0.1 for error in errors)
    among = sum(min(one["real_bytes"]) <= one["predicted_bytes"] <= max(one["real_bytes"]) for one in found)
    return (
        f"{within} of {len(errors)} predictions for another allocator or setting are within 10 % of the "
        f"median real run; the median error is {100 * median(errors):.1f} %; {among} lie between the "
        "least and the most of the real runs."
    )


def time_differences(program: dict[str, Any], candidate: dict[str, Any]) -> list[float]:
    """What the program takes more than on the reference, in each turn, in processor time."""
    (reference,) = (one for one in program["candidates"] if one["name"] == program["reference"])
    both = zip(candidate["real_cpu_ns"], reference["real_cpu_ns"], strict=True)
    return [own - before for own, before in both]


def time_row(program: dict[str, Any], candidate: dict[str, Any]) -> list[str]:
    real = time_differences(program, candidate)
    return [
        program["name"],
        candidate["name"],
        signed(candidate["predicted_time_difference_ns"]),
        SAID[candidate["time_verdict"]],
        signed(median(real)),
        f"{signed(min(real))} to {signed(max(real))}",
    ]


def about_times(programs: list[dict[str, Any]]) -> list[str]:
    """Predicted and real differences in processor time; empty for results that have none."""
    if any("real_cpu_ns" not in one for program in programs for one in program["candidates"]):
        return []
    found = [(of, one) for one, of in compared(programs) if one["predicted_time_difference_ns"] is not None]
    said = [(of, one) for of, one in found if one["time_verdict"] in ("better", "worse")]
    sides = [
        {(value < 0) == (one["time_verdict"] == "better") for value in time_differences(of, one)}
        for of, one in said
    ]
    return [
        "",
        "CPU time: the whole program's difference from its run on the recorded allocator, in the same runs. "
        f"Of {len(said)} verdicts of less or more, {sides.count({True})} hold in each turn and "
        f"{sides.count({False})} in none; in the others the turns differ, as does the program's own time.",
        "",
        *markdown.table(
            ["program", "on", "predicted", "verdict", "measured, median", "range of the turns"],
            [time_row(of, one) for of, one in found],
        ),
    ]


def fidelity_row(program: dict[str, Any]) -> list[str]:
    """The replay on the recorded allocator against the recording: inside this nothing is ranked."""
    recorded, errors = program["fidelity"]["recorded"], program["fidelity"]["errors"]
    keys = ("peak_bytes", "mean_bytes", "end_bytes")
    return [
        f"{program['name']}, {program['recorded_on']}",
        *(f"{100 * errors[key] / recorded[key]:.1f} %" if recorded[key] else "–" for key in keys),
    ]


def change_row(case: dict[str, Any]) -> list[str]:
    real = case["real_bytes"][case["changed"]]
    cpu = {way: median(found) for way, found in case["real_cpu_ns"].items()}
    saved = cpu[case["changed"]] - cpu[case["plain"]]
    return [
        f"{case['load']}, {case['change']}",
        units.size(case["predicted_bytes"]),
        spread_of(real),
        error_of(case["predicted_bytes"], median(real)),
        signed(case["predicted_time_difference_ns"]),
        signed(saved),
    ]


def signed(time_ns: float) -> str:
    return f"{'−' if time_ns < 0 else '+'}{units.duration(abs(time_ns))}"


def about_changes() -> list[str]:
    results = json.loads(changes_path.read_text(encoding="utf-8"))
    cases = results["cases"]
    runs = len(next(iter(cases[0]["real_cpu_ns"].values())))
    head = ["load and change", "predicted peak", f"{runs} real runs", "error", "predicted CPU time", "real"]
    return [
        "",
        "Changes, predicted from a recording of the unchanged program, and measured on the changed program "
        "(`bench/replay/changes.py`). CPU time is the difference from the unchanged program, of medians of "
        f"the whole process. {about_load(results)} {about_plain(cases)} {sources.said([results])}",
        "",
        *markdown.table(head, [change_row(case) for case in cases]),
    ]


def about_load(results: dict[str, Any]) -> str:
    """How far single runs of one program lie apart: who shares the machine takes caches and time."""
    machine = results["machine"]
    apart = max(
        max(found) / min(found) for case in results["cases"] for found in case["real_cpu_ns"].values()
    )
    return (
        f"The load average was {machine['load_average']} on {machine['cpus']} processors at the start; "
        f"runs of one program differ by up to {apart:.1f} times in CPU time."
    )


def about_plain(cases: list[dict[str, Any]]) -> str:
    """What the smallest process has more while it is recorded."""
    smallest = min(cases, key=lambda case: case["predicted_bytes"])
    more = smallest["predicted_plain_bytes"] - median(smallest["real_bytes"][smallest["plain"]])
    return (
        f"Recording adds {units.size(more)} to the unchanged program `{smallest['load']}`, a large share of "
        "so small a process."
    )


def about_speed() -> list[str]:
    results = json.loads(speed_path.read_text(encoding="utf-8"))
    large, cost = results["large"], results["own_cost"]
    events = large["events"]
    by_hand, replayed = median(cost["hand_loop_ns"]), median(cost["dependency_ns"])
    plan = min(large["plan"], key=lambda run: float(run["cpu_s"]))
    times = large.get("recorded_times", [])  # older results do not have it
    once = [("plan", plan), *(("recorded times", run) for run in times[:1])]
    rows = [
        *(
            [name, units.duration(1e9 * run["cpu_s"]), units.size(run["peak_resident_bytes"])]
            for name, run in once
        ),
        *(
            [
                f"{name} on glibc" if order != "dry" else name,
                units.duration(1e9 * large[order]["cpu_s"]),
                units.size(large[order]["peak_resident_bytes"]),
            ]
            for order, name in (
                ("recorded", "recorded order"),
                ("dependency", "dependency order"),
                ("dry", "dry run"),
            )
        ),
    ]
    answer, quick = large["answer"], large["quick"]
    cpus = results["machine"]["cpus"]
    loads = [run["load_average"] for run in (plan, answer, quick)]
    return [
        "",
        f"Speed, for a recording of {units.count(events)} calls by {large['threads']} threads with 100,000 "
        f"blocks (`bench/replay/speed.py`), on {cpus} processors shared with other work "
        f"(load {min(loads):.1f} to {max(loads):.1f}). The plan takes "
        f"{units.count(events / plan['cpu_s'])} calls per second of CPU time. With a heap that does nothing, "
        f"an operation in dependency order takes {replayed:.1f} ns, in a hand-written loop {by_hand:.1f} ns. "
        f"{answer['candidates']} allocators, three runs of each in both orders: "
        f"{units.duration(1e9 * answer['wall_s'])}; `--quick`: {units.duration(1e9 * quick['wall_s'])}. "
        f"{sources.said([results])}",
        "",
        *markdown.table(["one run", "CPU time", "peak memory, including the heap"], rows),
    ]


def main() -> int:
    results = json.loads(results_path.read_text(encoding="utf-8"))
    found = results["programs"]
    head = [
        "program",
        "on",
        "predicted peak",
        "verdict",
        f"{results['runs']} real runs",
        "error",
        "error of mean",
    ]
    lines = [
        f"{about_errors(found)} {about_verdicts(found)} {about_order(found)} {sources.said([results])}",
        "",
        *markdown.table(head, [row_of(of, one) for of in found for one in of["candidates"]]),
        "",
        "The replay on the recorded allocator, against the recording:",
        "",
        *markdown.table(
            ["program", "error of peak", "of mean", "of end"], [fidelity_row(program) for program in found]
        ),
        *about_times(found),
        *about_changes(),
        *about_speed(),
    ]
    return documents.give_results(document_path, "\n".join(lines).rstrip())


if __name__ == "__main__":
    sys.exit(main())
