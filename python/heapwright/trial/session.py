# SPDX-License-Identifier: MIT
"""The runs of the program as it is and with each remedy, in turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from heapwright.measure.errors import MeasureError
from heapwright.measure.turns import turns
from heapwright.measure.verdict import LEAST_RUNS
from heapwright.trial.figures import has_more
from heapwright.trial.run import FailedError, Plan, Run, Way, run_once

# All runs take about this long, where the number of runs is not given.
_BUDGET_S = 20.0
_MOST_RUNS = 7
# A remedy that takes so many times as long gets no more runs than a verdict needs.
_SLOW = 3.0
# What makes our heap look at each of its blocks; other allocators do not know it.
_CHECKS = {"HEAPWRIGHT_HEAP_HARDENED": "1"}
_DIFFERS = "writes something else, or exits with another code, than the program as it is (--same-output)"

# What is running, runs done, total runs.
Report = Callable[[str, int, int], object]
Runner = Callable[[Plan, Way], Run]


class Counter(Protocol):
    """Counts the heap calls of a run, which costs time: such runs give no other figure."""

    def variables(self, way: Way, environment: Mapping[str, str]) -> Mapping[str, str] | None:
        """What counts a run of this way, on top of its own variables; None: nothing can."""

    def figures(self) -> dict[str, float]:
        """Of the run that has ended just now; empty: too few calls were timed."""


@dataclass(slots=True)
class Arm:
    """The runs of one way; is_control: of the program as it is, against itself."""

    way: Way
    is_control: bool = False
    runs: list[Run] = field(default_factory=list)
    failure: str = ""
    spent_s: float = 0.0

    def values(self, key: str) -> list[float]:
        """The figure's, of the runs that have it."""
        return [run.figures[key] for run in self.runs if key in run.figures]


@dataclass(slots=True)
class Tried:
    """arms: as it is, its control, the remedies. runs: of each, as planned. is_whole: none was left out."""

    plan: Plan
    arms: list[Arm]
    runs: int
    unit: str
    has_more: bool
    is_whole: bool = False


def try_all(
    plan: Plan,
    ways: Sequence[Way],
    runs: int,
    more_is_better: bool | None,
    report: Report,
    counter: Counter | None = None,
    runner: Runner = run_once,
    is_checked: bool = False,
) -> Tried:
    """runs 0: as many as take some seconds. Ctrl-C ends it with what was measured so far.

    is_checked: first each way runs once with checks of our heap's blocks; one that fails is not measured.

    MeasureError if the program, its load or its metric fails without a remedy.
    """
    report("as it is, to warm up", 0, 0)
    begin_s = time.monotonic()
    first = _as_it_is(plan, runner)
    arms = [Arm(Way()), Arm(Way(), is_control=True), *map(Arm, ways)]
    runs = runs or _runs_of(time.monotonic() - begin_s, len(arms))
    tried = Tried(plan, arms, runs, first.unit, _direction(plan, first.unit, more_is_better))
    try:
        for arm in arms[2:] if is_checked else ():
            report(f"{arm.way.name}, checked", 0, 0)
            _check(arm, plan, first, runner)
        for done, (_, _, arm) in enumerate(turns(runs, [None], arms)):
            report(arm.way.name or "as it is", done, runs * len(arms))
            if not _is_slow(arm, arms[0]):
                _run_into(arm, plan, first, runner)
        if counter is not None:
            _count_into(arms, plan, runner, counter, report)
        tried.is_whole = True
    except KeyboardInterrupt:
        pass
    return tried


def _check(arm: Arm, plan: Plan, first: Run, runner: Runner) -> None:
    way = arm.way._replace(variables={**arm.way.variables, **_CHECKS})
    try:
        if runner(plan, way).output != first.output:
            arm.failure = _DIFFERS
    except FailedError as failure:
        arm.failure = f"{failure} (--check)"


def _count_into(arms: Sequence[Arm], plan: Plan, runner: Runner, counter: Counter, report: Report) -> None:
    """Adds counted runs. One that fails, or has too few calls, is the last: the others would be no better."""
    counted = [arm for arm in arms if not arm.failure]
    ways = [(arm, counter.variables(arm.way, plan.environment)) for arm in counted]
    runs = LEAST_RUNS * len(ways)
    left_out: set[int] = set()
    for done, (_, _, (arm, variables)) in enumerate(turns(LEAST_RUNS, [None], ways)):
        if variables is None or id(arm) in left_out:
            continue
        report(f"{arm.way.name or 'as it is'}, counted", done, runs)
        has_failed = True
        with suppress(FailedError):
            runner(plan, arm.way._replace(variables={**arm.way.variables, **variables}))
            has_failed = False
        figures = counter.figures()
        if has_failed or not figures:
            left_out.add(id(arm))
            continue
        arm.runs.append(Run(figures))


def _is_slow(arm: Arm, as_it_is: Arm) -> bool:
    each_s = as_it_is.spent_s / max(1, len(as_it_is.runs))
    return len(arm.runs) >= LEAST_RUNS and arm.spent_s > _SLOW * each_s * len(arm.runs)


def _as_it_is(plan: Plan, runner: Runner) -> Run:
    try:
        return runner(plan, Way())
    except FailedError as failure:
        raise _alone(plan, failure) from None


def _alone(plan: Plan, failure: FailedError) -> MeasureError:
    if failure.of_load:
        return MeasureError(str(failure))
    return MeasureError(f"{plan.command[0]} fails without any remedy, so none can be tried; it {failure}")


def _run_into(arm: Arm, plan: Plan, first: Run, runner: Runner) -> None:
    if arm.failure:
        return
    begin_s = time.monotonic()
    try:
        run = runner(plan, arm.way)
    except FailedError as failure:
        if not arm.way.name:
            raise _alone(plan, failure) from None
        arm.failure = str(failure)
        return
    arm.spent_s += time.monotonic() - begin_s
    if run.output == first.output:
        arm.runs.append(run)
    elif arm.way.name:
        arm.failure = _DIFFERS
    else:
        raise MeasureError(
            f"{plan.command[0]} writes something else in each run, or exits with another code: "
            "--same-output cannot compare it"
        )


def _runs_of(run_s: float, arms: int) -> int:
    return max(LEAST_RUNS, min(_MOST_RUNS, int(_BUDGET_S / (max(run_s, 1e-3) * arms))))


def _direction(plan: Plan, unit: str, more_is_better: bool | None) -> bool:
    if not plan.metric or more_is_better is not None:
        return bool(more_is_better)
    found = has_more(unit)
    if found is None:
        named = f"the unit '{unit}' does not tell" if unit else "a number without a unit does not tell"
        raise MeasureError(f"--metric: {named} whether more is better; add --better more or --better less")
    return found
