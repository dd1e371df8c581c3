# SPDX-License-Identifier: MIT
"""The verdict in docs/replay.md and the tables in docs/replay-measured.md, of bench/results/replay*.json."""

from __future__ import annotations

from itertools import combinations
from statistics import median
from typing import Any

import documents
from heapwright.report import markdown, units
from taken import as_is, counted, each, fields, only

Figure = dict[str, float]


def error_of(predicted: float, real: float) -> str:
    share = 100 * (predicted - real) / real
    return f"{'−' if share < 0 else '+'}{abs(share):.1f} %"


def spread_of(real: Figure) -> str:
    least, most = units.size(real["low"]), units.size(real["high"])
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
        error_of(predicted, real["median"]),
        "–" if mean is None else error_of(mean, real_means["median"]),
    ]


def compared(programs: list[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Each candidate with a prediction that is not what its program was recorded on, and its program."""
    return [
        (candidate, program)
        for program in programs
        for candidate in program["candidates"]
        if candidate["predicted_bytes"] is not None and candidate["name"] != program["reference"]
    ]


def is_real(verdict: str, candidate: Figure, reference: Figure) -> bool:
    """Whether the candidate's real runs lie on the side that was said, all beyond all of the reference's."""
    if verdict == "better":
        return candidate["high"] < reference["low"]
    return candidate["low"] > reference["high"]


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
            low, high = sorted((first, second), key=lambda one: one["real_bytes"]["median"])
            if high["real_bytes"]["low"] > 1.02 * low["real_bytes"]["high"]:
                pairs += 1
                right += low["predicted_bytes"] < high["predicted_bytes"]
    return f"Of {pairs} pairs of candidates with real runs over 2 % apart, {right} have the predicted order."


def about_errors(programs: list[dict[str, Any]]) -> str:
    found = [one for one, _ in compared(programs)]
    errors = [abs(one["predicted_bytes"] / one["real_bytes"]["median"] - 1) for one in found]
    within = sum(error <= 0.1 for error in errors)
    among = sum(
        one["real_bytes"]["low"] <= one["predicted_bytes"] <= one["real_bytes"]["high"] for one in found
    )
    return (
        f"{within} of {len(errors)} predictions for another allocator or setting are within 10 % of the "
        f"median real run; the median error is {100 * median(errors):.1f} %; {among} lie between the "
        "least and the most of the real runs."
    )


def time_row(program: dict[str, Any], candidate: dict[str, Any]) -> list[str]:
    real = candidate["real_time_difference_ns"]
    return [
        program["name"],
        candidate["name"],
        signed(candidate["predicted_time_difference_ns"]),
        SAID[candidate["time_verdict"]],
        signed(real["median"]),
        f"{signed(real['low'])} to {signed(real['high'])}",
    ]


def is_said_less(candidate: dict[str, Any]) -> bool:
    return bool(candidate["time_verdict"] == "better")


def is_less(candidate: dict[str, Any], end: str) -> bool:
    """Whether the turn at this end took less time than the reference's."""
    return bool(candidate["real_time_difference_ns"][end] < 0)


def about_times(programs: list[dict[str, Any]]) -> list[str]:
    """Predicted and real differences in processor time; empty for results that have none."""
    if any("real_time_difference_ns" not in one for program in programs for one in program["candidates"]):
        return []
    found = [(of, one) for one, of in compared(programs) if one["predicted_time_difference_ns"] is not None]
    said = [one for _, one in found if one["time_verdict"] in ("better", "worse")]
    in_each = sum(is_less(one, "high") == is_less(one, "low") == is_said_less(one) for one in said)
    in_none = sum(is_less(one, "high") == is_less(one, "low") != is_said_less(one) for one in said)
    return [
        "",
        "CPU time: the whole program's difference from its run on the recorded allocator, in the same runs. "
        f"Of {len(said)} verdicts of less or more, {in_each} hold in each turn and "
        f"{in_none} in none; in the others the turns differ, as does the program's own time.",
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
    cpu = {way: found["median"] for way, found in case["real_cpu_ns"].items()}
    saved = cpu[case["changed"]] - cpu[case["plain"]]
    return [
        f"{case['load']}, {case['change']}",
        units.size(case["predicted_bytes"]),
        spread_of(real),
        error_of(case["predicted_bytes"], real["median"]),
        signed(case["predicted_time_difference_ns"]),
        signed(saved),
    ]


def signed(time_ns: float) -> str:
    return f"{'−' if time_ns < 0 else '+'}{units.duration(abs(time_ns))}"


def about_changes() -> list[str]:
    results = documents.read("replay_changes")
    cases = results["cases"]
    runs = next(iter(cases[0]["real_cpu_ns"].values()))["runs"]
    head = ["load and change", "predicted peak", f"{runs} real runs", "error", "predicted CPU time", "real"]
    return [
        "",
        "Changes, predicted from a recording of the unchanged program, and measured on the changed program "
        "(`bench/replay/changes.py`). CPU time is the difference from the unchanged program, of medians of "
        f"the whole process. {about_load(results)} {about_plain(cases)} {documents.said([results])}",
        "",
        *markdown.table(head, [change_row(case) for case in cases]),
    ]


def about_load(results: dict[str, Any]) -> str:
    """How far single runs of one program lie apart: who shares the machine takes caches and time."""
    machine = results["machine"]
    apart = max(
        found["high"] / found["low"] for case in results["cases"] for found in case["real_cpu_ns"].values()
    )
    return (
        f"The load average was {machine['load_average']} on {machine['cpus']} processors at the start; "
        f"runs of one program differ by up to {apart:.1f} times in CPU time."
    )


def about_plain(cases: list[dict[str, Any]]) -> str:
    """What the smallest process has more while it is recorded."""
    smallest = min(cases, key=lambda case: case["predicted_bytes"])
    more = smallest["predicted_plain_bytes"] - smallest["real_bytes"][smallest["plain"]]["median"]
    return (
        f"Recording adds {units.size(more)} to the unchanged program `{smallest['load']}`, a large share of "
        "so small a process."
    )


def about_speed() -> list[str]:
    results = documents.read("replay_speed")
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
        f"{documents.said([results])}",
        "",
        *markdown.table(["one run", "CPU time", "peak memory, including the heap"], rows),
    ]


def verdict() -> str:
    found = documents.read("replay")["programs"]
    return f"{about_errors(found)} {about_verdicts(found)} {about_order(found)}"


def render() -> str:
    results = documents.read("replay")
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
        documents.said([results]),
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
    return "\n".join(lines).rstrip()


def taken(program: dict[str, Any]) -> dict[str, Any]:
    """A program with its candidates' figures; their times beside the reference's in the same turns."""
    (reference,) = (one for one in program["candidates"] if one["name"] == program["reference"])
    return {
        "name": program["name"],
        "recorded_on": program["recorded_on"],
        "reference": program["reference"],
        "fidelity": {name: program["fidelity"][name] for name in ("recorded", "errors")},
        "candidates": [candidate_of(one, reference) for one in program["candidates"]],
    }


def candidate_of(candidate: dict[str, Any], reference: dict[str, Any]) -> dict[str, Any]:
    """predicted as it was; real figures as those of all runs."""
    runs = {name: counted(candidate[name]) for name in ("real_bytes", "real_mean_bytes") if candidate[name]}
    if "real_cpu_ns" in candidate:
        both = zip(candidate["real_cpu_ns"], reference["real_cpu_ns"], strict=True)
        runs["real_time_difference_ns"] = counted([own - before for own, before in both])
    return {**predicted(candidate), **runs}


predicted = only(
    *("name", "failure", "verdict", "time_verdict"),
    *("predicted_bytes", "predicted_mean_bytes", "predicted_time_difference_ns"),
)
of_each_way = each(counted)
TAKEN = {
    "replay": fields({"programs": each(taken)}),
    "replay_changes": fields(
        {"cases": each(fields({"real_bytes": of_each_way, "real_cpu_ns": of_each_way}))}
    ),
    "replay_speed": as_is,
}
BLOCKS = [
    documents.marked("docs/replay.md", "verdict", verdict),
    documents.marked("docs/replay-measured.md", "results", render),
]
