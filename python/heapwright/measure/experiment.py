# SPDX-License-Identifier: MIT
"""Experiments: texts, runs, figures and charts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from heapwright.measure.statistics import Better


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of a run.

    of_load: the load alone decides it, whichever allocator serves it.
    unit: how it is written.
    has_own_table: beside the table of the part's first figure.
    """

    key: str
    label: str
    unit: str
    better: Better = "lower"
    of_load: bool = False
    has_own_table: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """One setting of the load: a fresh process per allocator and repetition."""

    name: str
    options: Mapping[str, str]
    x: float | None = None


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture of a part.

    kind: "cases" draws the figure y over the cases, "series" draws the run's
    series y over its series x. lines: what each line is; the other one is the
    first of its kind (a series by cases shows the first allocator).
    """

    title: str
    y: str
    y_title: str
    kind: Literal["cases", "bars", "series"] = "bars"
    x: str = ""
    x_title: str = ""
    lines: Literal["allocators", "cases"] = "allocators"
    case: str = ""
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """Cases by name: how many times as long `slow` takes as `fast`, of which `least` cannot go."""

    slow: str
    fast: str
    least: str


@dataclass(frozen=True, slots=True)
class Part:
    """A question with one table: the first figure ranks the allocators.

    folds: the runs share a file of minima, and the last run's figures are
    those of all runs.
    """

    name: str
    title: str
    figures: tuple[Figure, ...]
    cases: tuple[Case, ...]
    plots: tuple[Plot, ...] = ()
    folds: bool = False
    least_runs: int = 1
    comparison: Comparison | None = None


@dataclass(frozen=True, slots=True)
class Experiment:
    """A command `heapwright lab NAME` and everything a reader needs to know about it."""

    name: str
    title: str
    explained: tuple[str, str, str]
    reported: str
    meaning: str
    parts: tuple[Part, ...]
    is_pinned: bool = True
    fixed: Mapping[str, str] = field(default_factory=dict)

    def options(self, case: Case) -> dict[str, str]:
        """The program's parameters for a case."""
        return {**self.fixed, **case.options}
