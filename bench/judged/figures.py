# SPDX-License-Identifier: MIT
"""The table of judged remedies in docs/advice.md, of bench/results/judged.json."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import documents
from heapwright.report import markdown, units
from taken import each, fields, grouped


def by_load(case: Mapping[str, Any]) -> dict[str, Any]:
    """How often each was said, alone and on a busy machine."""
    loads = [value for key, value in case.items() if key.startswith("load_")]
    found: dict[str, Any] = {"runs": case["runs"]}
    for part in ("resident", "first"):
        texts = dict.fromkeys(text for load in loads for text in load[part])
        found[part] = {text: [load[part].get(text, 0) for load in loads] for text in texts}
    return found


TAKEN = {
    "judged": fields({"cases": each(fields({"before": grouped(), "after": each(grouped())}))}),
    "loads": fields({"cases": each(by_load)}),
}

# A difference counts if no run of one side is within the other's, and it is as large.
WORTH = {"cpu_ns": 0.05, "memory_bytes": 0.05}
# What a candidate has to gain to have been missed.
MISSED = {"cpu_ns": 0.2, "memory_bytes": 0.25}
# Keys of the runs with what the first screen names; others are candidates.
_REMEDIES = ("setting", "trim", "code")
RIGHT, SLOWER, NO_EFFECT, MISSED_ONE, NOTHING, NOT_TRIED = (
    "right", "**slower**", "**no effect**", "**missed**", "right: nothing", "not tried",
)  # fmt: skip


def _said(text: str) -> str:
    """The judged part of a finding, or its gain."""
    found = re.search(r"measured by replay: (.*?)(?:;|$)|(at most .*?)(?: \(|;| less|$)", text)
    return found[1] or found[2] if found else "nothing"


def gained(before: Mapping[str, Any], after: Mapping[str, Any], key: str, least: float) -> float:
    """The share that is gained; below 0 lost; 0 if the runs overlap, or it is less."""
    old, new = before[key], after[key]
    share = (old["median"] - new["median"]) / max(old["median"], 1)
    is_apart = new["high"] < old["low"] or new["low"] > old["high"]
    return float(share) if is_apart and abs(share) >= least else 0.0


def verdict(case: Mapping[str, Any]) -> tuple[str, str]:
    """What became of the first screen's remedy, and the key of the runs that show it.

    A remedy in code is right if the first screen names its rule. One that gains memory may cost time.
    """
    before, tried = case["before"], case["after"]
    if not tried:
        return NOT_TRIED, ""
    if key := next((key for key in _REMEDIES if key in tried), ""):
        time, memory = (gained(before, tried[key], one, WORTH[one]) for one in WORTH)
        is_named = case["rule"] in case["said"]["rules"] or f" {case['rule']}(" in case["said"]["text"]
        if key == "code" and not is_named:
            return (MISSED_ONE if time > 0 or memory > 0 else NOTHING), key
        if time > 0 or memory > 0:
            return RIGHT, key
        return (SLOWER if time < 0 else NO_EFFECT), key
    for key, after in tried.items():
        gains = {one: gained(before, after, one, WORTH[one]) for one in WORTH}
        other = {"cpu_ns": "memory_bytes", "memory_bytes": "cpu_ns"}
        if any(gains[one] >= least and gains[other[one]] >= 0 for one, least in MISSED.items()):
            return MISSED_ONE, key
    is_named = case["said"]["rules"] or " less " in case["said"]["text"]
    return (NOT_TRIED if is_named else NOTHING), ""


def _change(case: Mapping[str, Any], key: str, figure: str, unit: str) -> str:
    before, after = (runs[figure]["median"] for runs in (case["before"], case["after"][key]))
    share = units.signed_percent((after - before) / max(before, 1))
    return f"{units.number(int(before), unit)} → {units.number(int(after), unit)} ({share})"


def row_of(name: str, case: Mapping[str, Any]) -> list[str]:
    said = case["said"]
    settings = [f"`{key}={value}`" for key, value in said["set"].items()]
    settings += [f"no `{key}`" for key in said["remove"]]
    became, key = verdict(case)
    if key not in ("", *_REMEDIES):
        became = f"{became}: {' '.join(f'`{one}`' for one in key.split(' '))}"
    figures = [
        _change(case, key, figure, unit) if key else "–"
        for figure, unit in (("cpu_ns", "ns"), ("memory_bytes", "bytes"))
    ]
    return [
        name,
        " ".join(settings) or ("`malloc_trim(0)`" if said["trim"] else ", ".join(said["rules"])) or "none",
        _said(said["text"]),
        *figures,
        became,
    ]


def _measured_later(document: Mapping[str, Any]) -> list[str]:
    """The cases that were added at another revision, each with its own."""
    revision = document["sources"]["revision"]
    others: dict[str, list[str]] = {}
    for name, case in document["cases"].items():
        if case.get("revision", revision) != revision:
            others.setdefault(case["revision"], []).append(name)
    return [
        text
        for other, names in others.items()
        for text in (f"Measured at revision {other}, on a busy machine: {', '.join(names)}.", "")
    ]


def render() -> str:
    document = documents.read("judged")
    cases = document["cases"]
    runs = max(case["before"]["cpu_ns"]["runs"] for case in cases.values() if case["before"])
    loads = [case["load_average"] for case in cases.values()]
    became = [verdict(case)[0] for case in cases.values()]
    counts = ", ".join(f"{became.count(one)} {one.strip('*')}" for one in dict.fromkeys(became))
    lines = [
        documents.figures_of("judged"),
        "",
        f"Measured on {documents.machine_of(document)} at the start, {min(loads):.0f} to {max(loads):.0f} "
        f"meanwhile; medians of {runs} runs in turns, without the recorder. Time: the process's CPU time, or "
        "of its work if it prints that. Memory: at rest if the program prints it, otherwise its peak.",
        "",
        documents.said([document]),
        "",
        *_measured_later(document),
        f"{len(cases)} programs: {counts}.",
        "",
        *markdown.table(
            ["program", "the first screen names", "said", "time, really", "memory, really", "which is"],
            [row_of(name, case) for name, case in cases.items()],
        ),
    ]
    return "\n".join(lines)


def _most_said(said: Mapping[str, Sequence[int]]) -> str:
    text, counts = max(said.items(), key=lambda item: sum(item[1]))
    return f"{text}: {' and '.join(map(str, counts))}"


def render_loads() -> str:
    document = documents.read("loads")
    cases = document["cases"]
    alike = [part for part in ("resident", "first") for case in cases.values() if len(case[part]) == 1]
    lines = [
        documents.figures_of("loads"),
        "",
        f"Measured on {documents.machine_of(document)} at the start, with other work beside it all the time.",
        "",
        documents.said([document]),
        "",
        f"{len(cases)} programs: why memory is resident is the same in all recordings of "
        f"{alike.count('resident')}, the first other finding in those of {alike.count('first')}.",
        "",
        *markdown.table(
            ["program", "recordings", "why it is resident", "the first other finding"],
            [
                [
                    name,
                    f"{case['runs']} and {case['runs']}",
                    _most_said(case["resident"]),
                    _most_said(case["first"]),
                ]
                for name, case in cases.items()
            ],
        ),
    ]
    return "\n".join(lines)


BLOCKS = [
    documents.marked("docs/advice.md", "judged", render),
    documents.marked("docs/advice.md", "loads", render_loads),
]
