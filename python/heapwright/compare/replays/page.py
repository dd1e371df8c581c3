# SPDX-License-Identifier: MIT
"""A comparison of two replays as an offline page, without a script."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heapwright.compare.noise import LESS, MORE
from heapwright.compare.replays import show
from heapwright.report import html
from heapwright.report.columns import Column, Record
from heapwright.report.markup import Child, Markup, tag

_OWN_STYLE = Path(__file__).parent.parent / "page.css"


def render(document: Mapping[str, Any]) -> str:
    """The whole page as text."""
    program = document["b"]["program"].rsplit("/", 1)[-1] or "a program"
    return html.page(f"{program}: replays compared – heapwright", _OWN_STYLE, _body(document))


def _body(document: Mapping[str, Any]) -> list[Markup]:
    answer, *others = show.verdict(document)
    candidates = html.table(show.COLUMNS, document["candidates"], _mark)
    return [
        tag("header", *(tag("p", line, class_="who") for line in show.sides(document))),
        tag("h1", answer),
        *(tag("p", line, class_="second") for line in others),
        *([_section("Candidates of both: B minus A", candidates)] if document["candidates"] else []),
        _section("Reliability", *(tag("p", line, class_="note") for line in show.below(document))),
        _section("Next", tag("p", tag("code", show.next_command(document)))),
    ]


def _section(title: str, *children: Child) -> Markup:
    return tag("section", tag("h2", title), *children)


def _mark(row: Record, column: Column) -> str:
    found = row["figures"].get(column.key, {}).get("verdict", "")
    return found if found in (LESS, MORE) else ""
