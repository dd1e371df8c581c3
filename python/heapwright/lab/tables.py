# SPDX-License-Identifier: MIT
"""Results as tables in the terminal: the best marked, ours named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from heapwright.lab import findings
from heapwright.measure.allocators import OURS
from heapwright.measure.experiment import Experiment, Figure, Part
from heapwright.report import units

BEST = "★"
Record = Mapping[str, Any]


def columns_of(part: Part, part_record: Record) -> list[tuple[str, Record, Figure]]:
    """What a part's table shows beside the allocators: (heading, case record, figure).

    One case: all its figures. Several: the first figure that the allocators
    decide, by case.
    """
    cases = part_record["cases"]
    figures = [figure for figure in part.figures if not figure.of_load]
    if len(cases) == 1:
        return [(figure.label, cases[0], figure) for figure in figures]
    return [(case["name"], case, figures[0]) for case in cases]


def shown_figure(part: Part) -> Figure:
    """The figure that ranks the allocators."""
    return next(figure for figure in part.figures if not figure.of_load)


def cell(case_record: Record, allocator: str, figure: Figure) -> tuple[str, bool]:
    """The text and whether the runs show that it is (equal to) the best."""
    result = findings.result_of(case_record, allocator)
    summary = result["summary"].get(figure.key)
    if summary is None:
        return result["failure"].split(":")[0] or "–", False
    share = summary["spread"] / abs(summary["median"]) if summary["median"] else 0.0
    spread = f" ±{100 * share:.0f}%" if share >= 0.005 else ""
    is_best = allocator in findings.best_of(case_record, figure)
    return f"{units.number(summary['median'], figure.unit)}{spread}", is_best


def _allocator_table(part: Part, part_record: Record, allocators: Sequence[Record]) -> Table:
    columns = columns_of(part, part_record)
    title = part.title if len(part_record["cases"]) == 1 else f"{part.title}: {shown_figure(part).label}"
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
    table.add_column("allocator", no_wrap=True)
    for heading, _, figure in columns:
        arrow = "↓" if figure.better == "lower" else "↑"
        table.add_column(f"{heading} {arrow}", justify="right")
    for allocator in allocators:
        is_ours = allocator["name"] == OURS
        name = f"{allocator['name']} {allocator['version']}" + (" (ours)" if is_ours else "")
        row = [Text(name, style="bold cyan" if is_ours else "")]
        for _, case_record, figure in columns:
            text, is_best = cell(case_record, allocator["name"], figure)
            row.append(Text(f"{BEST} {text}" if is_best else text, style="bold green" if is_best else ""))
        table.add_row(*row)
    return table


def _load_table(part: Part, part_record: Record) -> Table | None:
    """What the load alone decides, by case."""
    figures = [figure for figure in part.figures if figure.of_load]
    if not figures:
        return None
    table = Table(title=part.title, title_justify="left", title_style="bold", header_style="bold")
    table.add_column("", no_wrap=True)
    for figure in figures:
        table.add_column(figure.label, justify="right")
    for case in part_record["cases"]:
        summary = case["results"][0]["summary"]
        values = [summary.get(figure.key, {}).get("median") for figure in figures]
        texts = [units.number(value, figure.unit) for value, figure in zip(values, figures, strict=True)]
        table.add_row(case["name"], *texts)
    return table


def show(experiments: Sequence[Experiment], document: Record, console: Console) -> None:
    """Everything that was measured, experiment by experiment."""
    by_name = {experiment.name: experiment for experiment in experiments}
    for record in document["experiments"]:
        experiment = by_name[record["name"]]
        parts = {part.name: part for part in experiment.parts}
        console.print(Text(f"\n{experiment.title}", style="bold underline"))
        if record.get("problem"):
            console.print(Text(f"not run to its end: {record['problem']}", style="red"))
        for part_record in record["parts"]:
            part = parts[part_record["name"]]
            load_table = _load_table(part, part_record)
            if load_table:
                console.print(load_table)
            console.print(_allocator_table(part, part_record, document["allocators"]))
            noise = findings.noise_of(part_record, shown_figure(part))
            console.print(Text(findings.seen(part, part_record)))
            meaning = f"{BEST} best, or equal to it within the noise (up to {100 * noise:.2g} %)"
            console.print(Text(f"{meaning}; none without evidence", style="dim"))
