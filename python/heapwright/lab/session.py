# SPDX-License-Identifier: MIT
"""Runs experiments one after the other; a failing one does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from heapwright.measure import machine, results, runner
from heapwright.measure.allocators import Allocator, Shelf
from heapwright.measure.errors import MeasureError
from heapwright.measure.experiment import Experiment, Part
from heapwright.measure.results import Document
from heapwright.measure.runner import Settings

# What is running, runs done, total runs.
Progress = Callable[[str, int, int], object]


class Session:
    """One call of `heapwright lab`."""

    def __init__(
        self, program: Path, shelf: Shelf, allocators: Sequence[Allocator], settings: Settings
    ) -> None:
        self._program = program
        self._shelf = shelf
        self._allocators = allocators
        self._settings = settings
        self._hung: set[str] = set()
        self._done = 0

    def run(self, experiments: Sequence[Experiment], progress: Progress) -> Document:
        """The document of results.py."""
        total = sum(runner.planned_runs(e, self._allocators, self._settings) for e in experiments)
        document: Document = {
            "schema": results.SCHEMA,
            "machine": machine.describe(),
            "seed": self._settings.seed,
            "scale": self._settings.scale,
            "parameters": dict(self._settings.parameters),
            "pinned_to": self._settings.pin_cpu,
            "allocators": [allocator.as_record() for allocator in self._allocators],
            "missing": [asdict(missing) for missing in self._shelf.missing()],
            "experiments": [],
        }
        self._done = 0
        for experiment in experiments:
            end = self._done + runner.planned_runs(experiment, self._allocators, self._settings)
            document["experiments"].append(self._run_one(experiment, progress, total))
            self._done = end
        return document

    def _run_one(self, experiment: Experiment, progress: Progress, total: int) -> Document:
        # Several allocators hang on some loads, but not on all.
        self._hung = set()

        def step(what: str) -> None:
            progress(what, self._done, total)
            self._done += 1

        record: Document = {"name": experiment.name, "parts": []}
        try:
            runner.warm_up(self._program, experiment, self._allocators, self._settings)
            for part in experiment.parts:
                record["parts"].append(self._run_part(experiment, part, step))
        except MeasureError as error:
            record["problem"] = str(error)
        return record

    def _run_part(self, experiment: Experiment, part: Part, step: Callable[[str], None]) -> Document:
        cases = []
        for case in part.cases:
            arms = runner.run_case(
                self._program, experiment, part, case, self._allocators, self._settings, step, self._hung
            )
            cases.append(results.case_record(part, case, experiment.options(case), arms))
        return {"name": part.name, "runs": self._settings.runs_of(part), "folds": part.folds, "cases": cases}
