# SPDX-License-Identifier: MIT
"""A comparison as an offline page, without a script."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heapwright.compare import icicle, show
from heapwright.compare.document import Comparison
from heapwright.compare.noise import LESS, MORE
from heapwright.report import html
from heapwright.report.columns import Column, Record
from heapwright.report.markup import Child, Markup, tag

Document = Mapping[str, Any]
_OWN_STYLE = Path(__file__).parent / "page.css"


def render(document: Document, top: int, comparison: Comparison) -> str:
    """The whole page as text; comparison: with its paths."""
    title = f"{document['b']['program']} compared – heapwright"
    return html.page(title, _OWN_STYLE, _body(document, top, _call_paths(document, comparison)))


def _call_paths(document: Document, comparison: Comparison) -> list[Markup]:
    figure = icicle.figure_of(document)
    if figure is None:
        return []
    tree = icicle.tree(comparison, document, figure["key"])
    lead = (
        f"{figure['label'].capitalize()}, callers above: width is A plus B; orange: B has more, "
        "blue: less; strong from 30 % of both. Point at a box for its figures. Boxes too narrow or "
        "too deep to read are left out."
    )
    picture = icicle.drawn(tree, figure["unit"])
    return [_section("Call paths that differ", tag("p", lead, class_="note"), picture)]


def _body(document: Document, top: int, call_paths: list[Markup]) -> list[Markup]:
    answer, *others = show.verdict(document)
    *columns, name = show.site_columns(document)
    sites = html.table((name, *columns), document["sites"][:top], _of_site)
    return [
        tag("header", *(tag("p", line, class_="who") for line in show.sides(document))),
        tag("h1", answer),
        *(tag("p", line, class_="second") for line in others),
        *([_section("Call sites that differ: B minus A", sites)] if document["sites"] else []),
        *call_paths,
        _section("In total", html.table(show.TOTALS, document["totals"], _of_total)),
        *(
            [_section("Estimates of the advice on A", *(tag("p", line, class_="note") for line in advice))]
            if (advice := show.advice(document))
            else []
        ),
        _section("Reliability", *(tag("p", line, class_="note") for line in show.below(document, top))),
    ]


def _section(title: str, *children: Child) -> Markup:
    return tag("section", tag("h2", title), *children)


def _of_site(site: Record, column: Column) -> str:
    return _marked(site["figures"].get(column.key, {}).get("verdict", ""))


def _of_total(row: Record, column: Column) -> str:
    return _marked(row["verdict"]) if column.key == "difference" else ""


def _marked(verdict: str) -> str:
    return verdict if verdict in (LESS, MORE) else ""
