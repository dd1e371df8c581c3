# SPDX-License-Identifier: MIT
# length: the text of one answer, from its first line to the last
"""The answer in words, the table for terminals and Markdown, and what to type next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from heapwright.measure.verdict import SAME, UNKNOWN, WORSE
from heapwright.replay import (
    clock_words,
    figure_words,
    kernel_words,
    latency_words,
    own_load,
    site_words,
    spread,
    time_fidelity,
)
from heapwright.replay.decision import LEAST_DIFFERENCE, LEAST_TIMED_RUNS, best_of, is_far_off
from heapwright.replay.details import Detail
from heapwright.replay.figures import FIGURES, KEYS, Figure
from heapwright.replay.remedy import of_candidate
from heapwright.replay.result import Document, Outcome, Plan
from heapwright.report import markdown, terminal, units
from heapwright.report.columns import TEXT, Column

if TYPE_CHECKING:
    from rich.console import Console

# Figures changed by a setting that returns memory if it cannot change the peak.
_PEAK, _LATER = FIGURES[1], FIGURES[2:4]


def _titled(candidate: Outcome) -> str:
    """The name with the version, unless settings or a change distinguish it."""
    is_plain = candidate.version and not candidate.variables and not candidate.change
    return f"{candidate.name} {candidate.version}" if is_plain else candidate.name


COLUMNS = (
    Column("name", TEXT, "allocator", text=lambda row, _: _titled(row["candidate"])),
    *(figure_words.column(figure) for figure in FIGURES if figure.is_shown),
)


def verdict(document: Document) -> list[str]:
    """Which candidate is best at what, each with its price; or that none is better."""
    lines = []
    if not document.others:
        return [f"Only {document.reference} was run; use --on to add allocators to compare."]
    if not any(candidate.figures for candidate in document.others):
        return ["No other candidate finished: there is nothing to compare."]
    lines += _about_far_off(document)
    for figure in FIGURES[:2]:
        best = best_of(document, figure)
        lines.append(_none_better(document, figure) if best is None else _said_of(best, figure))
    if document.gaps:
        best = best_of(document, own_load.TIME)
        line = _none_better(document, own_load.TIME) if best is None else _said_of(best, own_load.TIME)
        lines.insert(1, line)
    if best_of(document, _PEAK) is None:
        lines += [_said_of(best, figure) for figure in _LATER if (best := best_of(document, figure))][-1:]
    return lines


def _about_far_off(document: Document) -> list[str]:
    """The figures in which the replay does not stand for the recording."""
    truth = document.fidelity
    if truth is None:
        return []
    off = [
        f"{figure.label} {units.percent(getattr(truth.errors, key) / max(getattr(truth.recorded, key), 1))}"
        for figure in FIGURES
        if (key := figure.key) in KEYS and is_far_off(truth, key)
    ]
    if not off:
        return []
    return [
        f"The replay does not have this recording's memory: its error on {document.reference} is "
        f"{', '.join(off)}. These figures are not ranked (?)."
    ]


def _said_of(best: Outcome, figure: Figure) -> str:
    found = best.figures[figure.key]
    difference = units.signed_percent(found.relative_difference)
    amount = units.number(abs(found.difference), figure.unit)
    return f"{best.name} has {figure.less}: {difference} ({amount}){_price(best, figure)}."


def _none_better(document: Document, figure: Figure) -> str:
    reference = document.reference
    measured = [one.figures[figure.key] for one in document.others if figure.key in one.figures]
    verdicts = {found.verdict for found in measured}
    if UNKNOWN in verdicts and clock_words.is_open(document, figure):
        return f"Whether a candidate has {figure.less} than {reference} depends on when it returns memory."
    if SAME in verdicts and WORSE in verdicts:
        return f"No candidate has {figure.less} than {reference} by more than the replay's noise and error."
    if WORSE in verdicts or not verdicts:
        return f"No candidate has {figure.less} than {reference}."
    if UNKNOWN in verdicts:
        if figure.has_gaps and document.runs >= LEAST_TIMED_RUNS:
            return f"The program's load could not be kept, so {figure.label} is not ranked."
        if document.runs >= LEAST_TIMED_RUNS:
            return f"Whether a candidate has {figure.less} than {reference} is not known; see the notes."
        runs = f"{units.counted(document.runs, 'run')} of each"
        return f"{runs} cannot rank {figure.label}; use --runs {LEAST_TIMED_RUNS}."
    return f"No difference in {figure.label} is larger than the replay's noise and error."


def _price(candidate: Outcome, of: Figure) -> str:
    """The figures in which the candidate is worse."""
    worse = [
        f"{figure.label} {units.signed_percent(candidate.figures[figure.key].relative_difference)}"
        for figure in FIGURES
        if figure is not of
        and (figure.is_shown or figure.has_gaps)
        and candidate.has_verdict(figure.key, WORSE)
    ]
    return f"; its price: {', '.join(worse)}" if worse else ""


def about_truth(document: Document) -> str:
    """The accuracy of the replay of the recorded allocator."""
    truth = document.fidelity
    if truth is None:
        return "The accuracy of the replay's memory is not known."
    recorded, replayed, errors = truth.recorded, truth.replayed, truth.errors
    between = _about_moments(document, recorded.peak_bytes)
    return (
        f"Replayed on {document.reference} the peak is {units.size(replayed.peak_bytes)}, "
        f"recorded {units.size(recorded.peak_bytes)}; errors: "
        f"peak {units.size(errors.peak_bytes)}, mean {units.size(errors.mean_bytes)}, "
        f"end {units.size(errors.end_bytes)}. Less is no difference (=).{between}"
    )


def _about_moments(document: Document, read_bytes: float) -> str:
    """A note on a peak between the recording's readings."""
    found = document.candidates[0].figures.get(_PEAK.key)
    if not found or found.value - read_bytes <= LEAST_DIFFERENCE * read_bytes:
        return ""
    return (
        f" Between two readings the replay has {units.size(found.value)}, which none of them saw: its "
        "accuracy is not known."
    )


def about_touch(document: Document) -> str:
    """What the replay writes to, and the possible error."""
    plan = document.plan
    large, seen, small = plan.large_blocks, plan.seen_blocks, plan.small_bytes
    then = f" ({units.size(small)} at most)" if small is not None else ""
    smaller = f"maller ones count as fully touched{then}."
    if not large:
        return f"No block has 16 KiB or more; s{smaller}"
    known = (
        f"Written pages are known for {units.count(seen)} of {units.count(large)} blocks of 16 KiB or more"
    )
    others = "; the others count as touched like those of their call site, or fully" if seen < large else ""
    return f"{known}{others}{_about_guess(plan) if others else ''}. S{smaller}"


def _about_guess(plan: Plan) -> str:
    """The possible error from the others."""
    touched, untouched = plan.guessed_touched_bytes, plan.guessed_untouched_bytes
    if touched is None or untouched is None:
        return ""
    if not touched + untouched:
        return ", and none of these was live when memory was read"
    less = (
        f", up to {units.size(untouched)} counted as untouched that it may have touched" if untouched else ""
    )
    return f": at one moment up to {units.size(touched)} that the program may not have touched{less}"


def about_frees(document: Document) -> list[str]:
    """How long a thread frees without interruption, for changes that defer frees."""
    put_off = {change.text for change in document.changes if change.change == "deferred_free"}
    lines = []
    before = None  # of the candidate without a change, which precedes those with one
    for candidate in document.candidates:
        found = candidate.longest_frees_ns
        if not candidate.change:
            before = found
        elif candidate.change in put_off and found is not None and before is not None:
            lines.append(
                f"{candidate.name}: a thread's longest run of frees takes {units.duration(found)} in heap "
                f"calls, without the change {units.duration(before)}. Its CPU time depends on when the other "
                "thread runs, which full speed does not show (?); use --gaps."
            )
    return lines


def failures(document: Document) -> list[str]:
    """One line for each candidate that did not finish."""
    return [f"{one.name} {one.failure}" for one in document.candidates if one.failure]


def next_command(document: Document) -> str:
    """How to run the program with the winner, or what else to try."""
    time = own_load.TIME if document.gaps else FIGURES[0]
    order = (_PEAK, time, *reversed(_LATER))
    best = next((best for figure in order if (best := best_of(document, figure))), None)
    if best is None:
        has_settings = any(candidate.variables for candidate in document.candidates)
        if not has_settings:
            return f"heapwright replay {document.trace} --search tries settings of each"
        return f"heapwright explain {document.trace} --question advice shows what the program can change"
    if best.change:
        return f"heapwright explain {document.trace} --question advice shows code for such changes"
    remedy = of_candidate(best)
    if remedy is None:
        return f"{best.command}  # and the program's arguments"
    tried = f"heapwright try {document.trace} --remedy {shlex.quote(remedy.text)} -- PROGRAM"
    return f"{tried}   (measures what {best.command} does)"


class Shown(NamedTuple):
    """Options of what is shown besides the decision."""

    sites: int = 5
    latency: bool = False
    kernel: bool = False
    spread: bool = False


def on_console(document: Document, shown: Shown, console: Console) -> None:
    """Answer first, then the table, then its reliability."""
    for line in verdict(document):
        console.print(line)
    console.print()
    console.print(terminal.table(COLUMNS, figure_words.rows(document)))
    console.print()
    if own := own_load.rows(document):
        console.print(terminal.table(own_load.COLUMNS, own))
        console.print()
    for line in _with_gap(site_words.about(document, shown.sites)):
        is_site = line.startswith(" ")  # on a separate line, however long its name
        console.print(line, markup=False, no_wrap=is_site, overflow="ellipsis" if is_site else "fold")
    for line in below(document):
        console.print(line, markup=False)
    for detail in _details(document, shown):
        detail.on_console(console)


def _details(document: Document, shown: Shown) -> list[Detail]:
    """The requested tables that have rows."""
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
    """A call site as a list item; its name may contain Markdown characters."""
    escaped = markdown.escaped(text.strip())
    return [f"- {escaped}"] if text.startswith(" ") else ["", escaped, ""]


def as_markdown(document: Document, shown: Shown) -> str:
    """The same as Markdown."""
    table = [[column.written(row, {}) for column in COLUMNS] for row in figure_words.rows(document)]
    lines = [
        *verdict(document),
        "",
        *markdown.table([str(c.label) for c in COLUMNS], table),
        *_own_load_in_markdown(document),
        *(line for text in site_words.about(document, shown.sites) for line in _paragraph(text)),
        "",
        *(f"- {markdown.escaped(line)}" for line in below(document)),
    ]
    for detail in _details(document, shown):
        lines += detail.as_markdown()
    return "\n".join(lines) + "\n"


def _own_load_in_markdown(document: Document) -> list[str]:
    own = own_load.rows(document)
    if not own:
        return []
    cells = [[column.written(row, {}) for column in own_load.COLUMNS] for row in own]
    return ["", *markdown.table([str(c.label) for c in own_load.COLUMNS], cells)]


def below(document: Document) -> Sequence[str]:
    """The reliability, and what the figures mean."""
    front = f"Best trade-offs of CPU time, peak, mean and p99.9: {', '.join(document.front)}."
    return [
        *([front] if document.runs > 1 else []),  # a single run ranks nothing
        *about_frees(document),
        *kernel_words.about(document),
        *clock_words.about(document),
        about_truth(document),
        about_touch(document),
        *time_fidelity.about(document),
        "CPU time covers the calls and writing to fresh pages, with all threads at full speed; p99.9: "
        "one call in 1000 takes longer.",
        *own_load.about(document),
        *(f"note: {note}" for note in document.notes),
    ]
