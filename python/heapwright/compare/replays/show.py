# SPDX-License-Identifier: MIT
"""A comparison of two replays as text, as a table for terminals and Markdown, and the next command."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from heapwright.compare.noise import LESS, MORE, UNKNOWN
from heapwright.measure.verdict import LEAST_RUNS
from heapwright.replay.figures import FIGURES, Figure
from heapwright.report import markdown, terminal, units
from heapwright.report.columns import WORD, Column, Record

if TYPE_CHECKING:
    from rich.console import Console

Document = Mapping[str, Any]
_NONE = "–"


def verdict(document: Document) -> list[str]:
    """Differences of B, candidate by candidate; candidates without a difference in one line."""
    lines, same, unsure = [], [], []
    for candidate in document["candidates"]:
        phrases = [
            _phrase(figure, candidate["figures"][figure.key])
            for figure in FIGURES
            if candidate["figures"].get(figure.key, {}).get("verdict") in (LESS, MORE)
        ]
        verdicts = {figure["verdict"] for figure in candidate["figures"].values()}
        if phrases:
            lines.append(f"On {candidate['name']} B has {', '.join(phrases)}.")
        elif verdicts - {UNKNOWN}:
            same.append(candidate["name"])
        elif verdicts:
            unsure.append(candidate["name"])
    if same:
        lines.append(f"No difference on {', '.join(same)}.")
    if unsure:
        lines.append(
            f"Not known on {', '.join(unsure)}: replays with --runs {LEAST_RUNS} or more show how much runs "
            "differ."
        )
    return lines or ["No candidate was measured on both sides."]


def _phrase(figure: Figure, row: Record) -> str:
    amount = units.number(abs(row["difference"]), figure.unit)
    percent = units.signed_percent(row["relative_difference"])
    word = "less" if row["verdict"] == LESS else "more"
    return f"{amount} {word} {figure.label}{f' ({percent})' if percent else ''}"


def change_of(figure: Figure, candidate: Record) -> str:
    """The cell: B minus A."""
    row = candidate["figures"].get(figure.key)
    if row is None:
        failed = [side.upper() for side in "ab" if candidate[f"failure_{side}"]]
        return f"failed in {' and '.join(failed)}" if failed else _NONE
    difference = units.signed(row["difference"], figure.unit)
    if row["verdict"] in (LESS, MORE):
        return f"{difference} {units.signed_percent(row['relative_difference'])}".strip()
    return f"{difference} ?" if row["verdict"] == UNKNOWN and row["difference"] else "="


def _column(figure: Figure) -> Column:
    return Column(figure.key, WORD, figure.label, text=lambda row, _: change_of(figure, row))


COLUMNS = (Column("name", WORD, "B − A on"), *(_column(figure) for figure in FIGURES if figure.is_shown))


def sides(document: Document) -> list[str]:
    """A line each on A and B."""
    return [
        f"{name.upper()}: {side['file']}, {side['program']} recorded on {side['recorded_on'] or 'unknown'}, "
        f"{units.counted(side['calls'], 'call')}, {units.counted(side['runs'], 'run')}"
        for name in "ab"
        for side in [document[name]]
    ]


def below(document: Document) -> list[str]:
    """The reliability, and notes."""
    lines = [
        f"only in {name.upper()}: {', '.join(document[f'only_{name}'])}"
        for name in "ab"
        if document[f"only_{name}"]
    ]
    if min(document["a"]["runs"], document["b"]["runs"]) >= LEAST_RUNS:
        lines.append(
            "=: within the spread of one side's runs, the errors of both replays together, or "
            f"1 %; noise alone calls at most {units.percent(document['false_alarms_at_most'])} of the "
            "figures different"
        )
    return [*lines, *(f"note: {note}" for note in document["notes"])]


def on_console(document: Document, console: Console) -> None:
    """Answer first, then the table."""
    for line in (*verdict(document), "", *sides(document), ""):
        console.print(line)
    if document["candidates"]:
        console.print(terminal.table(COLUMNS, document["candidates"]))
    for line in below(document):
        console.print(line)


def as_markdown(document: Document) -> str:
    """The same as Markdown."""
    rows = [
        [markdown.escaped(column.written(row, {})) for column in COLUMNS] for row in document["candidates"]
    ]
    lines = ["### Heap, replayed: B compared to A", ""]
    lines += [*(f"- {markdown.escaped(line)}" for line in verdict(document)), ""]
    if rows:
        lines += markdown.table([str(column.label) for column in COLUMNS], rows)
    lines += [f"- {markdown.escaped(line)}" for line in (*sides(document), *below(document))]
    return "\n".join(lines) + "\n"


def next_command(document: Document) -> str:
    """The next command."""
    traces = [document[side]["trace"] for side in "ab"]
    if traces[0] != traces[1]:
        return f"heapwright compare {shlex.join(traces)} shows at which call sites the recordings differ"
    return f"heapwright replay {shlex.quote(traces[1])} --runs 5 narrows the bands"
