# SPDX-License-Identifier: MIT
"""What was measured as plain data: each remedy's figures against those of the program as it is.

The verdict is compare's, verdict.by_runs: all runs of the program as it is are one side. What its two halves
differ by, run in the same turns, is noise, and so is a hundredth of a figure.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from heapwright.measure import machine, verdict
from heapwright.measure.verdict import BETTER, SAME, VERDICTS, WORSE
from heapwright.report.columns import Choice, Column, Many, Record
from heapwright.trial import keeping
from heapwright.trial.figures import FIGURES, Figure
from heapwright.trial.run import DID_NOTHING
from heapwright.trial.session import Arm, Tried

SCHEMA = "heapwright.try/1"
# A smaller difference is no reason to act.
_LEAST_SHARE = 0.01

FIGURE = (
    Column("value", "signed", about="Median of the runs."),
    Column("low", "signed"),
    Column("high", "signed"),
    Column("runs"),
    Column("difference", "maybe", about="To the program as it is; null for that."),
    Column("relative_difference", "maybe", about="Null where the program as it is has none of it."),
    Column("interval", Many("signed"), about="The least and the largest difference between two runs."),
    Column("below", "maybe", about="A smaller difference cannot be told; null with too few runs."),
    Column("verdict", Choice((*VERDICTS, "")), about="Empty for the program as it is."),
)
SAID = (
    Column("figure", "text"),
    Column("unit", "text"),
    Column("difference", "signed"),
    Column("relative_difference", "signed"),
    Column("verdict", Choice(VERDICTS)),
    Column("on", "text"),
    Column("resolution", "number"),
)
KEEP = (
    Column("shell", "text"),
    Column("systemd", "text"),
    Column("docker", "text"),
    Column("kubernetes", "text"),
    Column("in_code", Many("text"), about="What does the same in the program's code, and where."),
)
ROW = (
    Column("remedy", "text", about="As --remedy takes it; empty: the program as it is."),
    Column("variables", "texts", about="Environment variables that do it."),
    Column("failure", "text", about="How the program fails with it; empty: it does not."),
    Column("idle", Many("text"), about="What parts of it never did in these runs, and why."),
    Column("is_idle", "flag", about="It did nothing at all: what differs is noise."),
    Column("figures", "figures", about="Without those that were not measured."),
    Column("replayed", Many(SAID), about="What a replay of the recording says of it; empty: nothing."),
    Column("keep", KEEP, about="How to keep it."),
)
DOCUMENT = (
    Column("command", Many("text")),
    Column("trace", "text", about="Empty without a recording."),
    Column("load", "text"),
    Column("machine", "machine"),
    Column("runs", about="Of each remedy; of the program as it is twice as many."),
    Column("is_whole", "flag", about="False: it was interrupted, and has fewer runs."),
    Column("metric_unit", "text"),
    Column("metric_has_more", "flag", about="More of the metric is better."),
    Column("notes", Many("text")),
    Column("remedies", Many(ROW), about="The first is the program as it is."),
    Column("best", "text", about="The remedy that gains most at the least price; empty: none helps."),
)


class Said(NamedTuple):
    """What is known beside the runs: what a replay says by remedy, and notes for the reader."""

    trace: str = ""
    replayed: Mapping[str, Sequence[Record]] = {}
    notes: Sequence[str] = ()


def make(tried: Tried, said: Said) -> Record:
    """The document; DOCUMENT describes its fields."""
    as_it_is, control = tried.arms[:2]
    rows = [_row(tried, as_it_is, said)]
    rows += [_row(tried, arm, said) for arm in tried.arms[2:]]
    notes = [*said.notes, *_notes(tried)]
    assert control.is_control
    return {
        "schema": SCHEMA,
        "command": list(tried.plan.command),
        "trace": said.trace,
        "load": tried.plan.load,
        "machine": machine.describe(),
        "runs": tried.runs,
        "is_whole": tried.is_whole,
        "metric_unit": tried.unit,
        "metric_has_more": tried.has_more,
        "notes": notes,
        "remedies": rows,
        "best": _best(rows),
    }


def _row(tried: Tried, arm: Arm, said: Said) -> Record:
    name = arm.way.name
    idle = _idle(arm)
    found = {figure.key: _figure(tried, arm, figure) for figure in FIGURES}
    return {
        "remedy": name,
        "variables": dict(arm.way.variables),
        "failure": arm.failure,
        "idle": idle,
        "is_idle": 0 < arm.way.parts == sum(DID_NOTHING in what for what in idle),
        # A run that failed says nothing of the others.
        "figures": {} if arm.failure else {key: one for key, one in found.items() if one is not None},
        "replayed": [dict(one) for one in said.replayed.get(name, ())],
        "keep": {
            **keeping.ways(arm.way.variables, shlex.join(tried.plan.command)),
            "in_code": list(arm.way.in_code),
        },
    }


def _idle(arm: Arm) -> list[str]:
    """Told by all runs; counted ones tell nothing."""
    told = [run.deeds for run in arm.runs if "wall_ns" in run.figures]
    return [what for what in (told[0] if told else ()) if all(one.get(what) == 0 for one in told)]


def _figure(tried: Tried, arm: Arm, figure: Figure) -> Record | None:
    halves = [one.values(figure.key) for one in tried.arms[:2]]
    reference, own = [*halves[0], *halves[1]], arm.values(figure.key)
    if arm is tried.arms[0]:
        own = reference
    if not own or not reference:
        return None
    of_own, of_reference = verdict.figure_of(own), verdict.figure_of(reference)
    known = {"value": of_own.value, "low": of_own.low, "high": of_own.high, "runs": of_own.runs}
    if arm is tried.arms[0]:
        return {**known, **_NO_DIFFERENCE}
    noise = abs(median(halves[0]) - median(halves[1])) if all(halves) else 0.0
    least = max(noise, figure.least_share * abs(of_reference.value))
    sides = of_own, of_reference
    if _has_more(tried, figure):
        sides = tuple(verdict.figure_of([-value for value in values]) for values in (own, reference))  # type: ignore[assignment]
    found = verdict.by_runs(*sides, least=least)
    difference = of_own.value - of_reference.value
    return {
        **known,
        "difference": difference,
        "relative_difference": difference / of_reference.value if of_reference.value else None,
        "interval": [of_own.low - of_reference.high, of_own.high - of_reference.low],
        "below": found.below,
        "verdict": found.side,
    }


_NO_DIFFERENCE: Mapping[str, Any] = {
    "difference": None,
    "relative_difference": None,
    "interval": [],
    "below": None,
    "verdict": "",
}


def _has_more(tried: Tried, figure: Figure) -> bool:
    return tried.has_more if figure.key == "metric" else figure.has_more


def gain(row: Record, key: str) -> float:
    """How many times better a figure is, as a logarithm: gains and prices add up. 0: no difference."""
    found = row["figures"].get(key)
    if found is None or found["verdict"] not in (BETTER, WORSE):
        return 0.0
    now, before = abs(found["value"]), abs(found["value"] - found["difference"])
    times = abs(math.log(max(now, _LEAST_SHARE * before) / max(before, _LEAST_SHARE * now)))
    return times if found["verdict"] == BETTER else -times


def _best(rows: Sequence[Record]) -> str:
    """The owner's figure decides where there is one; otherwise what gains more than it costs, first of all
    what costs nothing. What did nothing is none."""
    goals = [figure.key for figure in FIGURES if figure.is_goal]
    wanted = ["metric"] if any("metric" in row["figures"] for row in rows) else goals
    ranked = []
    for row in rows[1:]:
        if row["is_idle"]:
            continue
        gains = max(gain(row, key) for key in wanted)
        price = -sum(min(0.0, gain(row, key)) for key in goals)
        if gains > (0.0 if wanted == ["metric"] else price):
            ranked.append((price > 0, price - gains, str(row["remedy"])))
    return min(ranked)[2] if ranked else ""


def _notes(tried: Tried) -> list[str]:
    found = []
    if not tried.is_whole:
        found.append("interrupted: these are the runs until then")
    for arm in tried.arms:
        others = sorted({one for run in arm.runs for one in run.allocators} - {arm.way.allocator})
        if arm.way.allocator and others and not arm.way.library:
            found.append(
                f"{arm.way.name} is of {arm.way.allocator}, and the program has {', '.join(others)} in its "
                f"memory, which takes no such setting; on:{arm.way.allocator}+{arm.way.name} replaces it"
            )
    if tried.plan.load and not any("idle_bytes" in run.figures for arm in tried.arms for run in arm.runs):
        found.append(
            f"{tried.plan.command[0]} ended before its load was over: what it holds when idle is not known"
        )
    children = max((run.children for arm in tried.arms for run in arm.runs), default=0)
    if children:
        found.append(
            f"memory includes the anonymous memory of up to {children} child processes, where they share it "
            "more than once"
        )
    return found


def same_words(found: Mapping[str, Any]) -> bool:
    """Whether it may be called no difference: what could not be told would be small."""
    below, value = found["below"], abs(found["value"])
    return bool(found["verdict"] == SAME and below is not None and below <= 2 * _LEAST_SHARE * value)
