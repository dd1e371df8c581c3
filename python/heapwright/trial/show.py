# SPDX-License-Identifier: MIT
"""The result as text: what each remedy does, a table, what a replay had said, how to keep the best one."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from heapwright.measure.verdict import BETTER, SAME, UNKNOWN, WORSE
from heapwright.report import markdown, terminal, units
from heapwright.report.columns import TEXT, WORD, Column, Record
from heapwright.trial.document import same_words
from heapwright.trial.figures import FIGURES, Figure

if TYPE_CHECKING:
    from rich.console import Console

Document = Mapping[str, Any]
_AS_IT_IS = "as it is"


def verdict(document: Document) -> list[str]:
    """A line for each remedy, best first; before them, that none helps."""
    rows = document["remedies"][1:]
    named = sorted(rows, key=lambda row: row["remedy"] != document["best"])
    lines = [f"{row['remedy']}: {'; '.join([_said(document, row), *row['idle']])}." for row in named]
    if document["best"] or not rows:
        return lines
    why = "nothing that was tried helps" if any(_is_told(row) for row in rows) else "nothing can be told"
    return [f"{why[:1].upper()}{why[1:]}.", *lines]


def _is_told(row: Record) -> bool:
    return bool(row["failure"]) or any(one["verdict"] != UNKNOWN for one in row["figures"].values())


def _said(document: Document, row: Record) -> str:
    if row["failure"]:
        return f"the program {row['failure']}"
    if row["is_idle"]:
        return "no difference, as it did nothing"
    shown = [figure for figure in FIGURES if figure.key in row["figures"]]
    changed = [
        _changed(document, row, figure)
        for figure in shown
        if row["figures"][figure.key]["verdict"] in (BETTER, WORSE)
    ]
    open_ones = [
        figure
        for figure in shown
        if figure.is_goal
        and row["figures"][figure.key]["verdict"] == SAME
        and not same_words(row["figures"][figure.key])
    ]
    parts = [", ".join(changed) if changed else "no difference"]
    parts += [_not_told(document, row, figure) for figure in open_ones]
    few = [one for one in row["figures"].values() if one["verdict"] == UNKNOWN]
    if few:
        parts = [f"{units.counted(few[0]['runs'], 'run')} cannot tell; --runs 5 does"]
    return "; ".join(parts)


def _changed(document: Document, row: Record, figure: Figure) -> str:
    found = row["figures"][figure.key]
    amount = _signed(document, figure, found["difference"])
    low, high = (_signed(document, figure, value) for value in found["interval"])
    share = units.signed_percent(found["relative_difference"])
    return f"{figure.label} {share} ({amount}; {low} to {high})" if share else f"{figure.label} {amount}"


def _not_told(document: Document, row: Record, figure: Figure) -> str:
    below = row["figures"][figure.key]["below"]
    return f"{figure.label}: cannot tell below {_number(document, figure, below)}"


def _number(document: Document, figure: Figure, value: float) -> str:
    if figure.unit:
        return units.number(value, figure.unit)
    return f"{units.three_digits(value)} {document['metric_unit']}".rstrip()


def _signed(document: Document, figure: Figure, value: float) -> str:
    sign = "−" if value < 0 else "+"
    return f"{sign}{_number(document, figure, abs(value))}" if value else _number(document, figure, 0)


def columns(document: Document) -> list[Column]:
    """The remedies, and the figures that any of them has; major faults only where there are any."""
    has = {
        figure.key
        for figure in FIGURES
        for row in document["remedies"]
        if row["figures"].get(figure.key, {}).get("value")
    }
    shown = [figure for figure in FIGURES if figure.key in has]
    return [
        Column("remedy", TEXT, "remedy", text=lambda row, _: row["remedy"] or _AS_IT_IS),
        *(_column(document, figure) for figure in shown),
    ]


def _column(document: Document, figure: Figure) -> Column:
    return Column(figure.key, WORD, figure.label, text=lambda row, _: _cell(document, row["figures"], figure))


def _cell(document: Document, figures: Mapping[str, Record], figure: Figure) -> str:
    found = figures.get(figure.key)
    if found is None:
        return "–"
    text = _number(document, figure, found["value"])
    if not found["verdict"]:
        return text
    if found["verdict"] in (BETTER, WORSE):
        return f"{text} {units.signed_percent(found['relative_difference'])}".rstrip()
    if found["verdict"] == UNKNOWN:
        return f"{text} ?"
    return f"{text} =" if same_words(found) else f"{text} ±{_number(document, figure, found['below'])}"


def said_by_replay(document: Document) -> list[str]:
    """A line for each remedy that a replay has judged."""
    return [
        f"replay had said of {row['remedy']}: {', '.join(map(_replayed, row['replayed']))}"
        for row in document["remedies"]
        if row["replayed"]
    ]


def _replayed(one: Record) -> str:
    if one["verdict"] == SAME and one["resolution"]:
        return f"{one['figure']}: cannot tell below {units.number(one['resolution'], one['unit'])}"
    if one["verdict"] == UNKNOWN:
        return f"{one['figure']} not known"
    amount = units.signed(one["difference"], one["unit"])
    return f"{one['figure']} {units.signed_percent(one['relative_difference'])} ({amount})"


def below(document: Document) -> list[str]:
    """How sure it is, and notes."""
    runs = document["runs"]
    lines = [
        f"{units.counted(runs, 'run')} of each, {units.counted(2 * runs, 'run')} as it is, in turns; "
        "= no difference, ± smaller ones cannot be told"
    ]
    if any("call_tail_ns" in row["figures"] for row in document["remedies"]):
        lines.append("call p99.9: of runs of their own, which are counted")
    return [*lines, *(f"note: {note}" for note in document["notes"])]


def keep(document: Document) -> list[tuple[str, str]]:
    """How to keep the best remedy; empty if none helps or no environment does it."""
    found = next((row["keep"] for row in document["remedies"] if row["remedy"] == document["best"]), None)
    if not document["best"] or found is None or not found["shell"]:
        return []
    names = (("shell", "shell"), ("systemd", "systemd"), ("docker", "Docker"), ("kubernetes", "Kubernetes"))
    return [(label, found[key]) for key, label in names] + [("in code", line) for line in found["in_code"]]


def on_console(document: Document, console: Console) -> None:
    """The verdict first."""
    for line in (*verdict(document), ""):
        console.print(line)
    console.print(terminal.table(columns(document), document["remedies"]))
    for line in (*said_by_replay(document), *below(document)):
        console.print(line)
    if lines := keep(document):
        console.print(f"\nTo keep {document['best']}:")
        for label, line in lines:
            console.print(f"  {label:<11}{line}")


def as_markdown(document: Document) -> str:
    """The same as Markdown."""
    shown = columns(document)
    cells = [[markdown.escaped(column.written(row, {})) for column in shown] for row in document["remedies"]]
    lines = ["### Remedies, tried", "", *(f"- {markdown.escaped(line)}" for line in verdict(document)), ""]
    lines += markdown.table([str(column.label) for column in shown], cells)
    lines += [f"- {markdown.escaped(line)}" for line in (*said_by_replay(document), *below(document))]
    lines += [f"- {label}: `{line}`" for label, line in keep(document)]
    return "\n".join(lines) + "\n"


def next_command(document: Document) -> str:
    """What to type next."""
    kept: Sequence[tuple[str, str]] = keep(document)
    if kept:
        return kept[0][1]
    trace = document["trace"]
    if trace:
        return f"heapwright explain {shlex.quote(trace)} --question advice"
    return f"heapwright run -- {shlex.join(document['command'])}"
