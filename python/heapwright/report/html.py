# SPDX-License-Identifier: MIT
"""Offline pages without a script: their frame, and tables of columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from heapwright.report.columns import Column, Record
from heapwright.report.markup import STYLES, Markup, policy, tag


def page(title: str, own_style: Path, body: Sequence[Markup]) -> str:
    """The whole page as text."""
    paths = [*(STYLES / name for name in ("colours.css", "text.css", "tables.css", "charts.css")), own_style]
    style = "".join(path.read_text(encoding="utf-8") for path in paths)
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{escape(policy(style))}">'),
        tag("link", rel="icon", href="data:,"),
        tag("title", title),
        tag("style", Markup(style)),
    )
    return "<!doctype html>\n" + tag("html", head, tag("body", *body), lang="en")


def table(
    columns: Sequence[Column], rows: Sequence[Record], mark: Callable[[Record, Column], str] | None = None
) -> Markup:
    """The first column to the left, figures to the right; mark: the class of a cell, by row and column."""
    head = [
        tag("th", str(column.label), class_="text" if not at else "num") for at, column in enumerate(columns)
    ]
    body = [
        tag(
            "tr",
            *(
                tag(
                    "td",
                    column.written(row, {}),
                    class_=f"{'text' if not at else 'num'} {mark(row, column) if mark else ''}".rstrip(),
                )
                for at, column in enumerate(columns)
            ),
        )
        for row in rows
    ]
    made = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *body))
    return tag("div", made, class_="scroll")
