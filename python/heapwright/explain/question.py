# SPDX-License-Identifier: MIT
"""Questions: figures, tables and how they are shown."""

# Annotations are values here: compiling them from text for each NamedTuple field takes half the import time.

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from heapwright.explain import nested_words, tables
from heapwright.explain.report import Answer, Finding, Report, site_record
from heapwright.report import widgets
from heapwright.report.columns import Column, Table, record

A_SAMPLED_CALL_IS_SLOW = "sampled calls are slower: their times say nothing about other calls"


def _the_report(report: Report) -> Any:
    return report


def _nothing(_answer: Answer) -> Sequence[Any]:
    return ()


def _no_words(_answer: Answer) -> str:
    return ""


class Question(NamedTuple):
    """One question to a trace.

    prepare: computes once from the report what the figures and tables are read from.
    findings: the findings for the first screen.
    title_of: for a title that depends on the answer. notes: lines below the tables.
    show: draws the answer, if not as tables; None if there is nothing to show.
    gist: the answer in one line for the first screen; "" = there is nothing to say.
    if_nothing: what is said below the title when the question was asked and there is nothing to show.
    paths: the columns of the stacks whose sum is the weight of the sites' call paths;
    they add up to the first column of the table.
    unsampled: why samples do not answer it; "" = they do.
    """

    name: str
    title: str
    figures: tuple[Column, ...] = ()
    tables: tuple[Table, ...] = ()
    prepare: Callable[[Report], Any] = _the_report
    findings: Callable[[Answer], Sequence[Finding]] = _nothing
    title_of: Callable[[Answer], str] | None = None
    notes: Callable[[Answer], Sequence[str]] = _nothing
    show: "Callable[[Answer], widgets.RenderableType | None] | None" = None
    gist: Callable[[Answer], str] = _no_words
    if_nothing: str = "There is none in this recording."
    paths: tuple[str, ...] = ()
    unsampled: str = ""

    def answer(self, report: Report) -> Answer:
        """The answer as plain data, as printed by --json."""
        if self.unsampled and report.facts.spreads is not None:
            return {"not_answered": self.unsampled}
        source = self.prepare(report)
        found: Answer = {}
        for figure in self.figures:
            found |= record([figure], source, found)
        for table in self.tables:
            found[table.key] = [_record(table, row, found) for row in table.rows(source)]
        return found

    def shown(self, answer: Answer, is_sampled: bool) -> "widgets.RenderableType | None":
        """The answer as text; None if there is nothing to show."""
        if "not_answered" in answer:
            return widgets.Text(f"not available from samples: {answer['not_answered']}", style="dim")
        if self.show is not None:
            return self.show(answer)
        found = [tables.shown(table, answer, is_sampled) for table in self.tables]
        parts = [part for part in found if part is not None]
        parts[1:] = [part for following in parts[1:] for part in (widgets.Text(), following)]
        lines = [*self.notes(answer), *nested_words.notes(self.rows_of_sites(answer))]
        parts += [widgets.Text(line, style="dim") for line in lines]
        return widgets.Group(*parts) if parts else None

    def rows_of_sites(self, answer: Answer) -> list[Answer]:
        """Of all its tables of sites."""
        return [row for table in self.tables if table.of_sites for row in answer[table.key]]

    def in_short(self, answer: Answer) -> str:
        """The answer in one line; "" if there is nothing to say."""
        return "" if "not_answered" in answer else self.gist(answer)

    def heading(self, answer: Answer) -> str:
        """The title over the answer."""
        return self.title if self.title_of is None or "not_answered" in answer else self.title_of(answer)


def _record(table: Table, row: Any, found: Answer) -> Answer:
    if not table.of_sites:
        return record(table.columns, row, found)
    site, own = row
    return {**site_record(site), **record(table.columns, own, found)}


__all__ = ["A_SAMPLED_CALL_IS_SLOW", "Question"]
