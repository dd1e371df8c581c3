# SPDX-License-Identifier: MIT
"""Runs experiments: every repetition in a fresh process, alternating between allocators."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from heapwright.measure.allocators import Allocator
from heapwright.measure.errors import MeasureError
from heapwright.measure.experiment import Case, Experiment, Part
from heapwright.measure.program import Output, RunFailedError, run_for_document

_NOT_PINNED = 4
# What the program refuses whichever allocator serves it: bad input, too little memory.
_REFUSED = (2, 3, _NOT_PINNED)
_WARM_UP_SCALE = 0.01


@dataclass(frozen=True, slots=True)
class Settings:
    """How to run; runs 0 = as many as the experiment asks for."""

    runs: int = 0
    seed: int = 1
    scale: float = 1.0
    limit_s: float = 120.0
    pin_cpu: int | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)

    def runs_of(self, part: Part) -> int:
        """Repetitions of each case."""
        return max(self.runs or DEFAULT_RUNS, part.least_runs if not self.runs else 1)


DEFAULT_RUNS = 3


@dataclass(slots=True)
class Arm:
    """One allocator's runs of one case. The control is the first allocator again."""

    allocator: Allocator
    is_control: bool
    runs: list[Output] = field(default_factory=list)
    failure: str = ""
    minima: str = ""


Progress = Callable[[str], object]


def planned_runs(experiment: Experiment, allocators: Sequence[Allocator], settings: Settings) -> int:
    """How often Progress will be called."""
    arms = len(allocators) + 1
    return sum(len(part.cases) * settings.runs_of(part) * arms for part in experiment.parts)


def run_case(
    program: Path,
    experiment: Experiment,
    part: Part,
    case: Case,
    allocators: Sequence[Allocator],
    settings: Settings,
    progress: Progress,
    hung: set[str],
) -> list[Arm]:
    """All repetitions of one case, A A' B C A A' B C …; A' is the control.

    hung: allocators that are not waited for again, and where new ones go.
    """
    arms = arms_of(allocators)

    def run_once(arm: Arm) -> None:
        progress(f"{experiment.name} {case.name}: {arm.allocator.name}")
        if not arm.failure:
            _run_once(program, experiment, case, arm, settings, hung)

    with _minima_files(arms, part):
        take_turns(arms, settings.runs_of(part), run_once, hung)
    return arms


def arms_of(allocators: Sequence[Allocator]) -> list[Arm]:
    """One for each, and the control for the first: A A' B C …"""
    arms = [Arm(a, False) for a in allocators]
    arms.insert(1, Arm(allocators[0], True))
    return arms


def take_turns(arms: Sequence[Arm], runs: int, run_once: Callable[[Arm], None], hung: set[str]) -> None:
    """Calls run_once for every arm so often, in turns; one that hung before has failed by then."""
    for _, arm in product(range(runs), arms):
        if arm.allocator.name in hung and not arm.failure:
            arm.failure = "not run: hung before"
        run_once(arm)


def warm_up(
    program: Path, experiment: Experiment, allocators: Sequence[Allocator], settings: Settings
) -> None:
    """A small unmeasured warm-up run of every allocator."""
    case = experiment.parts[0].cases[0]
    scale = _WARM_UP_SCALE * min(1.0, settings.scale)
    for allocator in allocators:
        small = Settings(1, settings.seed, scale, settings.limit_s)
        _run_once(program, experiment, case, Arm(allocator, False), small, set())


@contextmanager
def _minima_files(arms: Sequence[Arm], part: Part) -> Iterator[None]:
    if not part.folds:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="heapwright-lab-") as folder:
        for number, arm in enumerate(arms):
            arm.minima = f"{folder}/{number}"
        yield


def _command(program: Path, experiment: Experiment, case: Case, arm: Arm, settings: Settings) -> list[str]:
    options = experiment.options(case)
    options |= {"seed": str(settings.seed), "scale": str(settings.scale)}
    options |= settings.parameters
    if arm.minima:
        options["minima"] = arm.minima
    if experiment.is_pinned and settings.pin_cpu is not None:
        options["pin-cpu"] = str(settings.pin_cpu)
    command = [str(program), experiment.name]
    for name, value in options.items():
        command += [f"--{name}", value]
    return command


def _run_once(
    program: Path, experiment: Experiment, case: Case, arm: Arm, settings: Settings, hung: set[str]
) -> None:
    """Adds a run or the failure to the arm. What no allocator could do raises."""
    command = _command(program, experiment, case, arm, settings)
    try:
        arm.runs.append(run_for_document(command, arm.allocator.environment(), settings.limit_s))
    except RunFailedError as failure:
        if failure.code in _REFUSED:
            advice = "; use --no-pin to run it unpinned" if failure.code == _NOT_PINNED else ""
            raise MeasureError(f"{experiment.name} {case.name}: {failure.line}{advice}") from None
        if failure.has_hung:
            hung.add(arm.allocator.name)
        arm.failure = str(failure)
