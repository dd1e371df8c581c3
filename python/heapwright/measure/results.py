# SPDX-License-Identifier: MIT
"""A run of experiments as one document: raw figures, medians, ranks.

The schema is heapwright.lab/1:
  machine, seed, scale, pinned_to, allocators, missing,
  experiments: name, runs, problem (why it did not run; else absent),
    parts: name, folds,
      cases: name, x, options, noise (of the first allocator, by figure),
        results: allocator, failure, runs (raw figures), control_runs and
          control_failure (only the first allocator's), summary (by figure: median, spread,
          low, high, noise, rank), series (medians, point by point)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from heapwright.measure import statistics
from heapwright.measure.experiment import Case, Figure, Part
from heapwright.measure.runner import Arm
from heapwright.measure.statistics import Summary
from heapwright.measure.verdict import relative_difference

SCHEMA = "heapwright.lab/1"
Document = dict[str, Any]
Run = dict[str, Any]


def _values(runs: Sequence[Run], key: str) -> list[float]:
    return [float(run[key]) for run in runs if isinstance(run.get(key), (int, float))]


def _summary(part: Part, runs: Sequence[Run], control: Sequence[Run], key: str) -> Summary | None:
    """Folded runs have one result, the last; its noise is the control's distance."""
    values = _values(runs, key)
    if not values:
        return None
    if not part.folds:
        return statistics.summarize(values)
    last = values[-1]
    other = _values(control, key)
    noise = relative_difference(last, other[-1]) if other else 0.0
    return Summary(last, 0.0, last, last, noise, len(values))


def _floor(part: Part, runs: Sequence[Run], control: Sequence[Run], key: str) -> float:
    """The noise of the first allocator against itself."""
    if part.folds:
        found = _summary(part, runs, control, key)
        return found.noise if found else 0.0
    return statistics.noise_of([*_values(runs, key), *_values(control, key)])


def case_record(part: Part, case: Case, options: Mapping[str, str], arms: Sequence[Arm]) -> Document:
    """One case's results, the first allocator first."""
    control_arm = next((arm for arm in arms if arm.is_control), None)
    control = control_arm.runs if control_arm else []
    measured = [arm for arm in arms if not arm.is_control]
    summaries: dict[str, dict[str, Summary]] = {arm.allocator.name: {} for arm in measured}
    ranks: dict[str, dict[str, int]] = {}
    noise: dict[str, float] = {}
    for figure in part.figures:
        noise[figure.key] = _floor(part, measured[0].runs, control, figure.key)
        for arm in measured:
            own_control = control if arm is measured[0] else []
            found = None if arm.failure else _summary(part, arm.runs, own_control, figure.key)
            if found:
                summaries[arm.allocator.name][figure.key] = found
        ranks[figure.key] = _ranks(figure, summaries, noise[figure.key])
    results = []
    for arm in measured:
        name = arm.allocator.name
        results.append(
            {
                "allocator": name,
                "failure": arm.failure,
                "runs": [_figures_of(run) for run in arm.runs],
                **(_control_record(control_arm) if control_arm and arm is measured[0] else {}),
                "summary": {
                    key: {**asdict(found), "rank": ranks[key][name]} for key, found in summaries[name].items()
                },
                "series": _series(arm.runs[-1:] if part.folds else arm.runs),
            }
        )
    return {"name": case.name, "x": case.x, "options": dict(options), "noise": noise, "results": results}


def _control_record(control: Arm) -> Document:
    return {"control_runs": [_figures_of(run) for run in control.runs], "control_failure": control.failure}


def _ranks(figure: Figure, summaries: Mapping[str, Mapping[str, Summary]], floor: float) -> dict[str, int]:
    having = {name: found[figure.key] for name, found in summaries.items() if figure.key in found}
    return statistics.ranks(having, figure.better, floor)


def _figures_of(run: Run) -> Run:
    return {key: value for key, value in run.items() if not isinstance(value, list)}


def _series(runs: Sequence[Run]) -> dict[str, list[float]]:
    if not runs:
        return {}
    keys = [key for key, value in runs[0].items() if isinstance(value, list)]
    return {key: statistics.median_series([run[key] for run in runs]) for key in keys}


def failures(document: Document) -> list[str]:
    """One line for everything that crashed, hung or did not run."""
    lines: list[str] = []
    for experiment in document["experiments"]:
        if experiment.get("problem"):
            lines.append(experiment["problem"])
        cases = [case for part in experiment["parts"] for case in part["cases"]]
        lines += [line for case in cases for line in _failures_of(experiment["name"], case)]
    return lines


def _failures_of(experiment: str, case: Document) -> list[str]:
    where = f"{experiment} {case['name']}:"
    lines = []
    for result in case["results"]:
        if result["failure"]:
            lines.append(f"{where} {result['allocator']} {result['failure']}")
        elif result.get("control_failure"):
            lines.append(f"{where} {result['allocator']} (control run) {result['control_failure']}")
    return lines
