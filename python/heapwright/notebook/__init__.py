# SPDX-License-Identifier: MIT
"""What explain says, as a notebook shows it.

>>> from heapwright import notebook
>>> notebook.findings(trace)                # doctest: +SKIP
>>> notebook.answer(trace, "peak")          # doctest: +SKIP
"""

from __future__ import annotations

from io import StringIO

from heapwright import explain as explaining
from heapwright.explain import first_screen
from heapwright.explain.report import Answer
from heapwright.model import Filter, SiteOptions, Trace
from heapwright.page.answers import html_of
from heapwright.report import widgets
from heapwright.report.markup import joined, tag
from heapwright.report.sentences import capitalized

_COLUMNS = 100
_ROWS = 10


class Shown:
    """A part of an explanation: its data, as HTML in a notebook and as text elsewhere."""

    def __init__(self, data: Answer, title: str, widget: widgets.RenderableType) -> None:
        """data: as in explain --json."""
        self.data = data
        self._title = title
        self._widget = widget

    def __repr__(self) -> str:
        """As on a terminal of 100 columns."""
        from rich.console import Console  # as slow to import as a short trace to read

        out = StringIO()
        console = Console(file=out, width=_COLUMNS, highlight=False, markup=False, emoji=False)
        console.print(self._title)
        console.print(self._widget)
        return out.getvalue().rstrip()

    def _repr_html_(self) -> str:
        return joined(tag("b", self._title), html_of(self._widget))


def findings(trace: Trace, chosen: Filter | None = None) -> Shown:
    """What stands out, heaviest first."""
    document = explaining.explain(_report(trace, chosen, _ROWS), explaining.NAMES)
    summary = document["summary"]
    lines = [*(line.plain for line in first_screen.warnings(summary))]
    lines += [f"• {capitalized(finding['text'])} [{finding['question']}]" for finding in summary["findings"]]
    return Shown(
        summary, first_screen.headline(summary).plain, widgets.Group(*(widgets.Text(line) for line in lines))
    )


def answer(trace: Trace, question: str, chosen: Filter | None = None, top: int = _ROWS) -> Shown:
    """One question's answer; questions: as explain --question names them. ValueError: there is none such."""
    if question not in explaining.NAMES:
        raise ValueError(f"no question {question}; known: {', '.join(explaining.NAMES)}")
    asked = next(one for one in explaining.QUESTIONS if one.name == question)
    document = explaining.explain(_report(trace, chosen, top), (question,))
    found = document["questions"][question]
    widget = asked.shown(found, trace.metadata.sample_mean_bytes > 0) or widgets.Text(asked.if_nothing)
    return Shown(found, asked.heading(found), widget)


def _report(trace: Trace, chosen: Filter | None, top: int) -> explaining.Report:
    trace.symbols()
    wanted = chosen or Filter()
    facts = trace.facts(wanted)
    sites = trace.sites(SiteOptions()).weighed(facts.stacks["allocations"])
    return explaining.Report(trace, facts, sites, wanted, top)


__all__ = ["Shown", "answer", "findings"]
