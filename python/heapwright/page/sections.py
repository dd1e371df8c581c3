# SPDX-License-Identifier: MIT
"""The page's parts that need no script: answers with the terminal's text."""

from __future__ import annotations

from typing import Any

from heapwright import explain
from heapwright.explain.question import Question
from heapwright.page import head
from heapwright.page.answers import html_of
from heapwright.report.markup import Markup, joined, tag

Answer = dict[str, Any]

# These have a panel of their own, all others are in a list at the page's end.
_PANELS = ("slow_calls", "recorder", "cause", "advice")
_BY_NAME = {question.name: question for question in explain.QUESTIONS}


def answers(document: Answer) -> Markup:
    """Every answer without a panel, collapsed at first."""
    is_sampled = document["summary"]["sample_mean_bytes"] != 0
    return joined(
        *(
            _details(_BY_NAME[name], answer, is_sampled)
            for name, answer in document["questions"].items()
            if name not in _PANELS
        )
    )


def panel(document: Answer, panel_id: str, names: tuple[str, ...], title: str = "") -> Markup:
    """A panel with these answers; nothing where none was asked for."""
    is_sampled = document["summary"]["sample_mean_bytes"] != 0
    parts: list[Markup] = []
    for name in names:
        answer = document["questions"].get(name)
        shown = _shown(_BY_NAME[name], answer, is_sampled) if answer is not None else None
        if shown is not None and answer is not None:
            own = tag("h2", _BY_NAME[name].heading(answer)) if not title else Markup()
            parts.append(tag("div", own, shown, id=f"answer-{name}"))
    if not parts:
        return Markup()
    above = tag("h2", title) if title else Markup()
    return tag("section", above, *parts, id=panel_id)


def trust(document: Answer, lines: list[str]) -> Markup:
    """What is known, what is missing, what recording cost."""
    own = [tag("p", line, class_="note") for line in lines]
    cost = panel(document, "cost", ("recorder",))
    return tag(
        "section",
        tag("h2", "Reliability"),
        head.warnings(document["summary"]),
        *own,
        cost,
        id="trust",
    )


def _details(question: Question, answer: Answer, is_sampled: bool) -> Markup:
    shown = _shown(question, answer, is_sampled)
    if shown is None:
        return Markup()
    return tag("details", tag("summary", question.heading(answer)), shown, id=f"answer-{question.name}")


def _shown(question: Question, answer: Answer, is_sampled: bool) -> Markup | None:
    widget = question.shown(answer, is_sampled)
    return html_of(widget) if widget is not None else None
