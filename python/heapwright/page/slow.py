# SPDX-License-Identifier: MIT
"""The slowest calls, each with its stacks: the caller's, and for a free that of its block's allocation."""

from __future__ import annotations

from typing import Any

from heapwright.explain import slow_calls, tables
from heapwright.page.answers import html_of, html_of_sites
from heapwright.report import widgets
from heapwright.report.markup import Markup, tag

Answer = dict[str, Any]


def panel(document: Answer) -> Markup:
    """Nothing where it was not asked for. parts/slow.js makes its lines choose a span."""
    question, answer = slow_calls.QUESTION, document["questions"].get("slow_calls")
    if answer is None:
        return Markup()
    parts = [tag("h2", question.heading(answer))]
    if "not_answered" in answer:
        widget = question.shown(answer, True)
        return tag("section", *parts, html_of(widget), id="slow")
    for table in question.tables:
        widget = tables.drawn(table, answer, False)
        if widget is None:
            continue
        if table.title:
            parts.append(tag("h3", table.title))
        if table.key == "calls":
            stacks = [_stacks(call) for call in answer["calls"]]
            parts.append(tag("div", html_of_sites(widget, stacks), id="slow-calls"))
        else:
            parts.append(html_of(widget))
    parts += [html_of(widgets.Text(line)) for line in question.notes(answer)]
    return tag("section", tag("div", *parts, id="answer-slow_calls"), id="slow")


def _stacks(call: Answer) -> Markup:
    is_free = bool(call["block_frames"])
    title = "Freed from" if is_free else "Called from"
    lists = [_frames(title, call["call_frames"])]
    if is_free:
        lists.append(_frames("Its block was allocated from", call["block_frames"]))
    if not any(call[name] for name in ("call_frames", "block_frames")):
        return Markup()
    return tag(
        "details", tag("summary", "Stacks" if is_free else "Stack"), tag("div", *lists, class_="stacks")
    )


def _frames(title: str, frames: list[Answer]) -> Markup:
    lines = [tag("li", frame["name"]) for frame in frames]
    body = (
        tag("ol", *lines)
        if lines
        else tag(
            "p", "Not recorded: only for calls of 20 µs or longer, and not in older traces.", class_="note"
        )
    )
    return tag("div", tag("h3", title), body)
