# SPDX-License-Identifier: MIT
"""Results as tables in the terminal, with the best marked and ours named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from heapwright.lab import findings
from heapwright.measure.allocators import OURS
from heapwright.measure.experiment import Experiment, Figure, Part
from heapwright.report import units

BEST = "★"
Record = Mapping[str, Any]


class Columns(NamedTuple):
    """What a table shows beside the allocators; figure: the one of all columns, if there is one."""

    figure: Figure | None
    columns: list[tuple[str, Record, Figure]]  # heading, case record, figure


def of_allocators(part: Part, part_record: Record) -> list[Columns]:
    """A part's tables. One case: all its figures.

    Several: by case, the first figure that the allocators decide, and each that has a table of its own.
    """
    cases = part_record["cases"]
    figures = [figure for figure in part.figures if not figure.of_load]
    if len(cases) == 1:
        return [Columns(None, [(figure.label, cases[0], figure) for figure in figures])]
    shown = [figures[0], *(figure for figure in figures[1:] if figure.has_own_table)]
    return [Columns(figure, [(case["name"], case, figure) for case in cases]) for figure in shown]


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


class Row(NamedTuple):
    """An allocator's or a case's cells: the text, and whether it is best."""

    name: str
    is_ours: bool
    cells: list[tuple[str, bool]]


def name_of(row: Row) -> str:
    """With a mark where it is ours; cases may have it in their names."""
    return f"{row.name} (ours)" if row.is_ours and "(ours)" not in row.name else row.name


class Shown(NamedTuple):
    """A table, however it is written."""

    first: str
    headings: list[str]
    rows: list[Row]


def title_of(allocator: Record) -> str:
    """Name and version."""
    return f"{allocator['name']} {allocator['version']}{' (ours)' if allocator['name'] == OURS else ''}"


def by_allocator(columns: Sequence[tuple[str, Record, Figure]], allocators: Sequence[Record]) -> Shown:
    """A row for each allocator."""
    rows = [
        Row(
            f"{allocator['name']} {allocator['version']}",
            allocator["name"] == OURS,
            [cell(case, allocator["name"], figure) for _, case, figure in columns],
        )
        for allocator in allocators
    ]
    return Shown("allocator", [heading for heading, _, _ in columns], rows)


def of_load(part: Part, part_record: Record) -> Shown | None:
    """What the load alone decides, by case; None where that is nothing."""
    figures = [figure for figure in part.figures if figure.of_load]
    rows = []
    for case in part_record["cases"]:
        summary = case["results"][0]["summary"]
        cells = [(units.number(summary.get(f.key, {}).get("median"), f.unit), False) for f in figures]
        rows.append(Row(case["name"], "(ours)" in case["name"], cells))
    return Shown("", [figure.label for figure in figures], rows) if figures else None


def _drawn(title: str, shown: Shown) -> Table:
    """For the terminal."""
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
    table.add_column(shown.first, no_wrap=True)
    for heading in shown.headings:
        table.add_column(heading, justify="right")
    for row in shown.rows:
        name = Text(name_of(row), style="bold cyan" if name_of(row) != row.name else "")
        cells = [
            Text(f"{BEST} {text}" if is_best else text, style="bold green" if is_best else "")
            for text, is_best in row.cells
        ]
        table.add_row(name, *cells)
    return table


def _with_arrow(heading: str, figure: Figure) -> str:
    return f"{heading} {'↓' if figure.better == 'lower' else '↑'}"


def show(experiments: Sequence[Experiment], document: Record, console: Console) -> None:
    """Everything that was measured, experiment by experiment."""
    by_name = {experiment.name: experiment for experiment in experiments}
    for record in document["experiments"]:
        experiment = by_name[record["name"]]
        parts = {part.name: part for part in experiment.parts}
        console.print(Text(f"\n{experiment.title}", style="bold underline"))
        if record.get("problem"):
            console.print(Text(f"did not finish: {record['problem']}", style="red"))
        for part_record in record["parts"]:
            part = parts[part_record["name"]]
            load = of_load(part, part_record)
            if load:
                console.print(_drawn(part.title, load))
            for of_all, columns in of_allocators(part, part_record):
                title = f"{part.title}: {of_all.label}" if of_all else part.title
                with_arrows = [
                    (_with_arrow(heading, figure), case, figure) for heading, case, figure in columns
                ]
                console.print(_drawn(title, by_allocator(with_arrows, document["allocators"])))
            noise = findings.noise_of(part_record, shown_figure(part))
            console.print(Text(findings.seen(part, part_record)))
            meaning = f"{BEST} best, or equal to it within the noise (up to {100 * noise:.2g} %)"
            console.print(Text(f"{meaning}; none without evidence", style="dim"))
