# SPDX-License-Identifier: MIT
"""The report on one screen: why memory is resident, what stands out, three tables, a line for the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from heapwright.explain import cause, cause_words, first_screen, leaks, nested_words, peak, tables, time
from heapwright.explain import growth as growing
from heapwright.explain.question import Question
from heapwright.explain.report import Answer
from heapwright.explain.summary import address_in, naming
from heapwright.model.names import short_name
from heapwright.report import units, widgets
from heapwright.report.columns import TEXT, WORD, Column

# Of standard output; below it stands one line on what to type next.
MOST_LINES = 58
_MOSTLY = 0.5  # of what is resident
_LEAST_UNTOUCHED = 0.1  # of a site's bytes: less is the end of a vector that grew
# Findings that only describe: what fixing them returns is not known.
_DESCRIBING = ("peak", "calls", "sizes", "cross_thread", "time")
# What says where time goes, not what to change: its share depends on how busy the machine is.
_POINTING = ("slow_calls",)
_ROW = (
    Column("question", WORD, "question"),
    Column("gist", TEXT, "in short (--question NAME shows all of it)"),
)
_LEAST_GISTS = 3
_LEAST_GIST = 20  # columns
_GAP = 2  # columns between question and answer
_NO_CALL = (
    "no heap call: nothing was allocated by malloc, new or the like. Processes that it started (record "
    "--children), static programs and allocators of a program's own are not in it: docs/troubleshooting.md"
)
_AROUND = 3  # lines: the heading, its rule, an empty one above
_LEAST_STAYED = 0.02  # of the peak: less that stayed is one line


class _Room(NamedTuple):
    """Findings, and rows of a table."""

    findings: int
    rows: int


# Tried in turn until the lines of all other questions fit, or with the last ones some of them.
_ROOMS = (_Room(7, 3), _Room(5, 3), _Room(4, 3), _Room(3, 2), _Room(2, 1), _Room(1, 1))
_WITH_ALL = 3


def render(
    document: Answer, questions: Sequence[Question], console: widgets.Console, rows: int | None = None
) -> None:
    """Prints what fits a screen of MOST_LINES lines. rows: of each table; if asked for, it may be longer."""
    screen = _Screen(document, questions)
    for number, room in enumerate(_ROOMS, 1):
        parts = screen.parts(room if rows is None else room._replace(rows=rows))
        gists = _wrapped(screen.gists(room), console)
        left = MOST_LINES - _height(console, parts)
        if left >= sum(map(len, gists)) + _AROUND or (number >= _WITH_ALL and left >= _LEAST_GISTS + _AROUND):
            break
    for part in (*parts, *_in_lines(gists, max(left - _AROUND, _LEAST_GISTS))):
        console.print(part)


def _wrapped(gists: Sequence[Answer], console: widgets.Console) -> list[list[list[str]]]:
    """The rows of each question: a line that does not fit goes on below, as a cut would hide figures."""
    names = max((len(row["question"]) for row in gists), default=0)
    width = max(_LEAST_GIST, console.width - names - _GAP)
    found = []
    for row in gists:
        lines = [line.plain.rstrip() for line in widgets.Text(row["gist"]).wrap(console, width)]
        found.append([[row["question"] if line == 0 else "", text] for line, text in enumerate(lines)])
    return found


def _in_lines(gists: Sequence[list[list[str]]], most: int) -> list[widgets.RenderableType]:
    """All questions if they take so many lines at most, or else one less and how many are left."""
    if not gists:
        return []
    ends = list(accumulate(map(len, gists)))
    kept = gists if ends[-1] <= most else gists[: sum(end < most for end in ends)]
    cells = [row for rows in kept for row in rows]
    table = widgets.Columns(
        [column.heading({}) for column in _ROW], cells, text_columns=(1,), left_columns=(0,)
    )
    left = len(gists) - len(kept)
    more = widgets.Text(f"{units.counted(left, 'more question')}: --all", style="dim")
    return [widgets.Text(), table, *([more] if left else [])]


def _height(console: widgets.Console, parts: Sequence[widgets.RenderableType]) -> int:
    return sum(len(console.render_lines(part, pad=False)) for part in parts)


class _Screen:
    def __init__(self, document: Answer, questions: Sequence[Question]) -> None:
        self._summary = document["summary"]
        self._answers = document["questions"]
        self._questions = questions
        self._is_sampled = self._summary["sample_mean_bytes"] != 0
        self._tables = [question for question in self._asked() if self._has_rows(question)]

    def parts(self, room: _Room) -> list[widgets.RenderableType]:
        """The head, why memory is resident, findings, tables."""
        summary = self._summary
        if is_empty(summary):
            return [*first_screen.show_heading(summary).renderables, widgets.Text(), widgets.Text(_NO_CALL)]
        shown = {**summary, "findings": in_order(summary["findings"])[: room.findings]}
        found = [
            first_screen.headline(summary),
            *first_screen.warnings(summary),
            widgets.Text(),
            first_screen.figures(summary, is_brief=True),
            *self._why(),
            *first_screen.findings(shown),
        ]
        for question in self._tables:
            found += self._table(question, room.rows)
        if not any(finding["naming"] for finding in shown["findings"]):
            found += self._naming(room.rows)
        return found

    def gists(self, room: _Room) -> list[Answer]:
        """Each other question with its answer in one line, without those that a finding above tells."""
        if is_empty(self._summary) or self._is_sampled:  # a line has no room for intervals
            return []
        told = {finding["question"] for finding in in_order(self._summary["findings"])[: room.findings]}
        shown = {cause.QUESTION.name, *(question.name for question in self._tables), *told}
        return [
            {"question": question.name, "gist": gist}
            for question in self._questions
            if question.name in self._answers and question.name not in shown
            if (gist := question.in_short(self._answers[question.name]))
        ]

    def _why(self) -> list[widgets.RenderableType]:
        answer = self._answers.get(cause.QUESTION.name)
        if answer is None:
            return []
        text = widgets.Text("Why it is resident: ", style="bold")
        text.append(why_resident(answer, self._answers), style="not bold")
        text.append(f"   [{cause.QUESTION.name}]", style="not bold dim")
        return [widgets.Text(), text]

    def _asked(self) -> Iterator[Question]:
        """The questions of the tables: the peak, what grows or stays, time."""
        yield peak.QUESTION
        rows = self._answers.get("growth", {}).get("sites", ())
        if any(map(_is_growing, rows)):
            yield growing.QUESTION
        elif self._answers.get("leaks", {}).get("share_of_peak", 0) >= _LEAST_STAYED:
            yield leaks.QUESTION
        yield time.QUESTION

    def _has_rows(self, question: Question) -> bool:
        answer = self._answers.get(question.name, {})
        return bool(answer.get("sites")) and answer.get("durations_recorded", True)

    def _table(self, question: Question, rows: int) -> list[widgets.RenderableType]:
        answer = self._answers[question.name]
        sites = [row for row in answer["sites"] if question is not growing.QUESTION or _is_growing(row)]
        shown = {**answer, "sites": [self._with_caller(row) for row in sites[:rows]]}
        table = tables.shown(question.tables[0], shown, self._is_sampled)
        if table is None:
            return []
        notes = [widgets.Text(line, style="dim") for line in self._open(question, sites[:rows])]
        title = widgets.Text(question.heading(answer), style="bold")
        title.append(f" [{question.name}]", style="not bold dim")
        return [widgets.Text(), title, table, *notes]

    def _open(self, question: Question, rows: Sequence[Answer]) -> list[str]:
        """What these rows leave open, each once on the screen."""
        earlier = self._tables[: self._tables.index(question)]
        seen = [row for other in earlier for row in self._answers[other.name]["sites"][: len(rows)]]
        return nested_words.notes(rows, seen)

    def _with_caller(self, row: Answer) -> Answer:
        """With the caller of most of it beside its name; where its own question has none, another's."""
        row = {**row, "name": row["name"] + nested_words.beside(row), "nested": None}
        if row.get("frames"):
            return {**row, "frames": (), "name": _from(row["name"], row["frames"][1:2], is_all=True)}
        paths: Sequence[Answer] = row.get("paths") or next(
            (
                other["paths"]
                for name in (leaks.QUESTION.name, peak.QUESTION.name)
                for other in self._answers.get(name, {}).get("sites", ())
                if other["site"] == row["site"] and other.get("paths")
            ),
            [],
        )
        callers = paths[0]["callers"] if paths else ()
        is_all = len({(path["callers"] or [{}])[0].get("name") for path in paths}) == 1
        return {**row, "paths": [], "name": _from(row["name"], callers, is_all)}

    def _naming(self, rows: int) -> list[widgets.RenderableType]:
        """What would name the first address in the tables."""
        problems = self._answers.get("recorder", {}).get("symbol_problems", ())
        for question in self._tables:
            for row in self._answers[question.name]["sites"][:rows]:
                library = address_in(row["name"])
                if library and (text := naming(library, problems)):
                    return [widgets.Text(text, style="yellow")]
        return []


def is_empty(summary: Answer) -> bool:
    """Whether no call is in the selected part."""
    return not summary["totals"]["events"] and not summary["peak"]["live_blocks"]


def _is_growing(row: Answer) -> bool:
    return bool(row["is_sure"] and row["slope_bytes_per_s"] > 0)


def _from(name: str, callers: Sequence[Answer], is_all: bool) -> str:
    if not callers:
        return name
    caller = short_name(callers[0]["function"] or callers[0]["name"])
    return f"{name}, {'' if is_all else 'mostly '}from {caller}"


def in_order(findings: Sequence[Answer]) -> list[Answer]:
    """By weight: what returns something, then where time goes, then what only describes; why memory is
    resident stands above."""
    told = [finding for finding in findings if finding["question"] != cause.QUESTION.name]
    classes = dict.fromkeys(_POINTING, 1) | dict.fromkeys(_DESCRIBING, 3)
    return sorted(told, key=lambda one: 2 if one["is_nothing"] else classes.get(one["question"], 0))


def first_question(findings: Sequence[Answer]) -> str:
    """The question that tells more of the first finding on the screen; "" without one."""
    if findings and findings[0]["question"] == cause.QUESTION.name:
        return cause.QUESTION.name
    return next((str(finding["question"]) for finding in in_order(findings)), "")


def why_resident(answer: Answer, answers: Answer) -> str:
    """Why memory is resident, in one sentence, and whether it grows where no heap call shows it."""
    outside = growing.fastest_outside(answers.get("growth", {}))
    why = _why_resident(answer, answers)
    return f"{why.removeprefix(cause_words.NOTHING)}; {outside}" if outside else why


def _why_resident(answer: Answer, answers: Answer) -> str:
    """Live data first of all, where that is most of it."""
    if "not_answered" in answer:
        return f"unknown: {answer['not_answered']}"
    moments = answers.get("residency", {}).get("moments", ())
    of_peak = answers.get("peak", {}).get("sites", ())
    most = max(moments, key=lambda row: int(row["live_bytes"]), default=None)
    if answer["verdict"] == "nothing" and most is not None and not most["live_bytes"] and of_peak:
        return "unknown: its pages were not looked at while it held blocks, as it ended too soon"
    is_live = most is not None and most["live_resident_bytes"] >= _MOSTLY * most["resident_bytes"]
    if answer["verdict"] != "nothing" or most is None or not is_live or not of_peak:
        return cause.QUESTION.gist(answer)
    site = of_peak[0]
    # Such as a table for the longest input. Only if the pages were looked at while the peak's blocks lived.
    is_missing = most["live_resident_bytes"] < (1 - _LEAST_UNTOUCHED) * site["live_bytes"]
    is_untouched = is_missing and site["live_bytes"] <= most["live_bytes"]
    untouched = ", of which only what was written to is resident" if is_untouched else ""
    own = f" ({units.size(answer['recorder_bytes'])} the recorder's)" if answer["recorder_bytes"] else ""
    return (
        f"it is live data, {units.size(most['live_resident_bytes'])} of "
        f"{units.size(most['resident_bytes'])}{own} at "
        f"{units.duration(most['time_ns'])}; at the peak {units.size(site['live_bytes'])} in "
        f"{units.counted(site['live_blocks'], 'block')} of {site['name']}{untouched}"
        f"{cause_words.of_huge_pages(answer)}"
    )


__all__ = ["MOST_LINES", "first_question", "in_order", "is_empty", "render", "why_resident"]
