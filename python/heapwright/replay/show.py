# SPDX-License-Identifier: MIT
"""The answer in words, the table for terminals and Markdown, and what to type next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from heapwright.replay.decision import BETTER, FIGURES, SAME, UNKNOWN, WORSE, Figure
from heapwright.report import markdown, terminal, units
from heapwright.report.columns import WORD, Column, Record

if TYPE_CHECKING:
    from rich.console import Console

_MARKS = {BETTER: "", WORSE: "", SAME: "=", UNKNOWN: "?"}


def _written(figure: Figure, record: Record) -> str:
    """41.2 MiB −12 %; = where there is no difference, ? where nothing tells."""
    found = record["figures"].get(figure.key)
    if found is None:
        return str(record["failure"]).split(":")[0] or "–"
    text = units.number(found["value"], figure.unit)
    if record["is_reference"]:
        return text
    if found["verdict"] in (BETTER, WORSE):
        return f"{text} {signed_percent(found['relative_difference'])}"
    return f"{text} {_MARKS[found['verdict']]}"


def signed_percent(share: float) -> str:
    """A difference as people read it.

    >>> signed_percent(-0.123), signed_percent(1.5)
    ('−12 %', '+150 %')
    """
    sign = "−" if share < 0 else "+"
    return f"{sign}{abs(100 * share):.0f} %" if abs(share) >= 0.095 else f"{sign}{abs(100 * share):.1f} %"


def _titled(record: Record) -> str:
    """With the version, unless settings tell it from the plain one."""
    version = record["version"]
    return str(record["name"]) if record["variables"] or not version else f"{record['name']} {version}"


def _column(figure: Figure) -> Column:
    return Column(figure.key, WORD, figure.label, text=lambda record, _: _written(figure, record))


COLUMNS = (
    Column("name", WORD, "allocator", text=lambda record, _: _titled(record)),
    *(_column(figure) for figure in FIGURES if figure.is_shown),
)


def _rows(document: Mapping[str, Any]) -> list[Record]:
    return [
        {**candidate, "is_reference": candidate["name"] == document["reference"]}
        for candidate in document["candidates"]
    ]


def best_of(document: Mapping[str, Any], figure: Figure) -> Mapping[str, Any] | None:
    """The candidate with least of it among those that are better than the reference."""
    better = [
        candidate
        for candidate in document["candidates"]
        if candidate["figures"].get(figure.key, {}).get("verdict") == BETTER
    ]
    return min(better, key=lambda c: float(c["figures"][figure.key]["value"]), default=None)


def verdict(document: Mapping[str, Any]) -> list[str]:
    """Which candidate is best at what, each with its price; or that none is better."""
    lines = []
    for figure in FIGURES[:2]:
        best = best_of(document, figure)
        if best is None:
            lines.append(f"Nothing here has {figure.less} than {document['reference']}.")
            continue
        found = best["figures"][figure.key]
        difference = signed_percent(found["relative_difference"])
        amount = units.number(abs(found["difference"]), figure.unit)
        lines.append(f"{best['name']} has {figure.less}: {difference} ({amount}){_price(best, figure)}.")
    return lines


def _price(candidate: Mapping[str, Any], of: Figure) -> str:
    """Where the candidate is worse."""
    worse = [
        f"{figure.label} {signed_percent(candidate['figures'][figure.key]['relative_difference'])}"
        for figure in FIGURES
        if figure is not of
        and figure.is_shown
        and candidate["figures"].get(figure.key, {}).get("verdict") == WORSE
    ]
    return f"; its price: {', '.join(worse)}" if worse else ""


def about_truth(document: Mapping[str, Any]) -> str:
    """How true the replay of the recorded allocator is."""
    truth = document["fidelity"]
    if truth is None:
        return "How true the replay's memory is, is not known."
    recorded, replayed, errors = truth["recorded"], truth["replayed"], truth["errors"]
    return (
        f"Replayed on {document['reference']} the peak is {units.size(replayed['peak_bytes'])} "
        f"where {units.size(recorded['peak_bytes'])} were recorded; errors: "
        f"peak {units.size(errors['peak_bytes'])}, mean {units.size(errors['mean_bytes'])}, "
        f"end {units.size(errors['end_bytes'])}. Less is no difference (=)."
    )


def about_touch(document: Mapping[str, Any]) -> str:
    """What the replay writes to."""
    plan = document["plan"]
    large, seen = plan["large_blocks"], plan["seen_blocks"]
    if not large:
        return "No block is large enough to leave whole pages untouched."
    return (
        f"What the program wrote to is known of {units.count(seen)} of {units.count(large)} blocks of 16 KiB "
        "and more; the others count as touched like those of their call site, or whole."
    )


def failures(document: Mapping[str, Any]) -> list[str]:
    """One line for each candidate that did not finish."""
    return [f"{c['name']} {c['failure']}" for c in document["candidates"] if c["failure"]]


def next_command(document: Mapping[str, Any]) -> str:
    """How to run the program with the winner; what else to try where there is none."""
    best = best_of(document, FIGURES[1]) or best_of(document, FIGURES[0])
    if best is None:
        return f"heapwright replay {document['trace']} --set glibc.arena_max=1 tries a setting"
    return str(best["command"])


def on_console(document: Mapping[str, Any], console: Console) -> None:
    """Answer first, then the table, then how sure it is."""
    for line in verdict(document):
        console.print(line)
    console.print()
    console.print(terminal.table(COLUMNS, _rows(document)))
    console.print()
    for line in _below(document):
        console.print(line)


def as_markdown(document: Mapping[str, Any]) -> str:
    """The same for documents."""
    rows = [[column.written(row, {}) for column in COLUMNS] for row in _rows(document)]
    lines = [
        *verdict(document),
        "",
        *markdown.table([str(c.label) for c in COLUMNS], rows),
        *_below(document),
    ]
    return "\n".join(lines) + "\n"


def _below(document: Mapping[str, Any]) -> Sequence[str]:
    front = f"Best trade-offs of CPU time, peak, mean and p99.9: {', '.join(document['front'])}."
    return [
        *([front] if document["runs"] > 1 else []),  # a single run ranks nothing
        about_truth(document),
        about_touch(document),
        "Time is CPU time of the calls and of writing to fresh pages, with all threads at full speed; p99.9: "
        "one call in 1000 takes longer.",
        *(f"note: {note}" for note in document["notes"]),
    ]
