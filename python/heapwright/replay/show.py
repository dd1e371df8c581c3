# SPDX-License-Identifier: MIT
"""The answer in words, the table for terminals and Markdown, and what to type next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from heapwright.replay import clock_words, kernel_words, latency_words, site_words, spread, time_fidelity
from heapwright.replay.decision import (
    BETTER,
    FIGURES,
    LEAST_TIMED_RUNS,
    SAME,
    UNKNOWN,
    WORSE,
    Figure,
    best_of,
)
from heapwright.replay.details import Detail
from heapwright.report import markdown, terminal, units
from heapwright.report.columns import TEXT, WORD, Column, Record

if TYPE_CHECKING:
    from rich.console import Console

# What a setting that gives memory back changes where it cannot change the peak.
_PEAK, _LATER = FIGURES[1], FIGURES[2:4]
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
        return f"{text} {units.signed_percent(found['relative_difference'])}"
    return f"{text} {_MARKS[found['verdict']]}"


def _titled(record: Record) -> str:
    """With the version, unless settings or a change tell it from the plain one."""
    version = record["version"]
    is_plain = not record["variables"] and not record["change"]
    return str(record["name"]) if not version or not is_plain else f"{record['name']} {version}"


def _column(figure: Figure) -> Column:
    return Column(figure.key, WORD, figure.label, text=lambda record, _: _written(figure, record))


COLUMNS = (
    Column("name", TEXT, "allocator", text=lambda record, _: _titled(record)),
    *(_column(figure) for figure in FIGURES if figure.is_shown),
)


def rows(document: Mapping[str, Any]) -> list[Record]:
    """The candidates, for COLUMNS."""
    return [
        {**candidate, "is_reference": candidate["name"] == document["reference"]}
        for candidate in document["candidates"]
    ]


def verdict(document: Mapping[str, Any]) -> list[str]:
    """Which candidate is best at what, each with its price; or that none is better."""
    lines = []
    others = [c for c in document["candidates"] if c["name"] != document["reference"]]
    if not others:
        return [f"Only {document['reference']} was run; --on adds an allocator to compare it with."]
    if not any(candidate["figures"] for candidate in others):
        return ["No other candidate finished: there is nothing to compare."]
    for figure in FIGURES[:2]:
        best = best_of(document, figure)
        lines.append(_none_better(document, figure) if best is None else _said_of(best, figure))
    if best_of(document, _PEAK) is None:
        lines += [_said_of(best, figure) for figure in _LATER if (best := best_of(document, figure))][-1:]
    return lines


def _said_of(best: Mapping[str, Any], figure: Figure) -> str:
    found = best["figures"][figure.key]
    difference = units.signed_percent(found["relative_difference"])
    amount = units.number(abs(found["difference"]), figure.unit)
    return f"{best['name']} has {figure.less}: {difference} ({amount}){_price(best, figure)}."


def _none_better(document: Mapping[str, Any], figure: Figure) -> str:
    reference = document["reference"]
    verdicts = {
        candidate["figures"].get(figure.key, {}).get("verdict")
        for candidate in document["candidates"]
        if candidate["name"] != reference
    }
    if UNKNOWN in verdicts and clock_words.is_open(document, figure):
        return f"Whether one here has {figure.less} than {reference} depends on when it gives memory back."
    if SAME in verdicts and WORSE in verdicts:
        return f"Nothing here has {figure.less} than {reference} by more than the replay's noise and error."
    if WORSE in verdicts or not verdicts - {None}:
        return f"Nothing here has {figure.less} than {reference}."
    if UNKNOWN in verdicts:
        runs = f"{units.counted(document['runs'], 'run')} of each"
        return f"{runs} cannot rank {figure.label}; {LEAST_TIMED_RUNS} runs can."
    return f"No difference in {figure.label} is larger than the replay's noise and error."


def _price(candidate: Mapping[str, Any], of: Figure) -> str:
    """Where the candidate is worse."""
    worse = [
        f"{figure.label} {units.signed_percent(candidate['figures'][figure.key]['relative_difference'])}"
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


def about_frees(document: Mapping[str, Any]) -> list[str]:
    """How long a thread frees at one go, where a change puts frees off."""
    put_off = {change["text"] for change in document["changes"] if change["change"] == "deferred_free"}
    lines = []
    before = None  # of the candidate without a change, which comes before those with one
    for candidate in document["candidates"]:
        found = candidate["longest_frees_ns"]
        if not candidate["change"]:
            before = found
        elif candidate["change"] in put_off and found is not None and before is not None:
            lines.append(
                f"{candidate['name']}: a thread's longest row of frees takes {units.duration(found)} in heap "
                f"calls, without the change {units.duration(before)}."
            )
    return lines


def failures(document: Mapping[str, Any]) -> list[str]:
    """One line for each candidate that did not finish."""
    return [f"{c['name']} {c['failure']}" for c in document["candidates"] if c["failure"]]


def next_command(document: Mapping[str, Any]) -> str:
    """How to run the program with the winner; what else to try where there is none."""
    order = (_PEAK, FIGURES[0], *reversed(_LATER))
    best = next((best for figure in order if (best := best_of(document, figure))), None)
    if best is None:
        has_settings = any(candidate["variables"] for candidate in document["candidates"])
        if not has_settings:
            return f"heapwright replay {document['trace']} --search tries settings of each"
        return f"heapwright explain {document['trace']} --question advice says what the program can change"
    if best["change"]:
        return f"heapwright explain {document['trace']} --question advice shows code for such changes"
    return f"{best['command']}  # and the program's arguments"


class Shown(NamedTuple):
    """What is shown beside the decision."""

    sites: int = 5
    latency: bool = False
    kernel: bool = False
    spread: bool = False


def on_console(document: Mapping[str, Any], shown: Shown, console: Console) -> None:
    """Answer first, then the table, then how sure it is."""
    for line in verdict(document):
        console.print(line)
    console.print()
    console.print(terminal.table(COLUMNS, rows(document)))
    console.print()
    for line in _with_gap(site_words.about(document, shown.sites)):
        is_site = line.startswith(" ")  # a line of its own, however long its name
        console.print(line, markup=False, no_wrap=is_site, overflow="ellipsis" if is_site else "fold")
    for line in below(document):
        console.print(line, markup=False)
    for detail in _details(document, shown):
        detail.on_console(console)


def _details(document: Mapping[str, Any], shown: Shown) -> list[Detail]:
    """The tables that were asked for, and have rows."""
    asked = [
        *([spread.detail(document)] if shown.spread else []),
        *(
            [latency_words.detail(document), latency_words.site_detail(document, shown.sites)]
            if shown.latency
            else []
        ),
        *([kernel_words.detail(document)] if shown.kernel else []),
    ]
    return [detail for detail in asked if detail.rows]


def _with_gap(lines: list[str]) -> list[str]:
    return [*lines, ""] if lines else []


def _paragraph(text: str) -> list[str]:
    """A call site is an item of a list; its name may have what Markdown takes for its own."""
    escaped = markdown.escaped(text.strip())
    return [f"- {escaped}"] if text.startswith(" ") else ["", escaped, ""]


def as_markdown(document: Mapping[str, Any], shown: Shown) -> str:
    """The same for documents."""
    table = [[column.written(row, {}) for column in COLUMNS] for row in rows(document)]
    lines = [
        *verdict(document),
        "",
        *markdown.table([str(c.label) for c in COLUMNS], table),
        *(line for text in site_words.about(document, shown.sites) for line in _paragraph(text)),
        "",
        *(f"- {markdown.escaped(line)}" for line in below(document)),
    ]
    for detail in _details(document, shown):
        lines += detail.as_markdown()
    return "\n".join(lines) + "\n"


def below(document: Mapping[str, Any]) -> Sequence[str]:
    """How sure it is, and what the figures mean."""
    front = f"Best trade-offs of CPU time, peak, mean and p99.9: {', '.join(document['front'])}."
    return [
        *([front] if document["runs"] > 1 else []),  # a single run ranks nothing
        *about_frees(document),
        *kernel_words.about(document),
        *clock_words.about(document),
        about_truth(document),
        about_touch(document),
        *time_fidelity.about(document),
        "Time is CPU time of the calls and of writing to fresh pages, with all threads at full speed; p99.9: "
        "one call in 1000 takes longer.",
        *(f"note: {note}" for note in document["notes"]),
    ]
