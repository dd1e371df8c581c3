# SPDX-License-Identifier: MIT
"""The terminal's output as HTML: the same text and figures from the same widgets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from heapwright.report import widgets
from heapwright.report.markup import Child, Markup, joined, tag
from heapwright.terminal.columns import CALLERS, Cell, Styled

_COLUMNS = 110  # of what is drawn with letters


def html_of(widget: Any) -> Markup:
    """A widget as HTML; unknown ones are written as on the terminal."""
    if isinstance(widget, widgets.Columns):
        return _table(widget)
    if isinstance(widget, widgets.Pairs):
        rows = [joined(tag("dt", name.strip()), tag("dd", text.plain)) for name, text in widget.rows]
        return tag("dl", *rows, class_="pairs")
    if isinstance(widget, widgets.Text):
        return tag("p", widget.plain, class_="note") if widget.plain else Markup()
    if isinstance(widget, widgets.Group):
        return joined(*map(html_of, widget.renderables))
    return tag("pre", _as_text(widget))


def html_of_sites(table: Any, beneath: Sequence[Markup]) -> Markup:
    """A table of sites; beneath: what is below the name in the last cell of each."""
    return _table(table, iter(beneath))


def _as_text(widget: Any) -> str:
    from io import StringIO

    from rich.console import Console

    out = StringIO()
    Console(file=out, width=_COLUMNS, highlight=False, markup=False, emoji=False).print(widget)
    return out.getvalue()


def _table(table: widgets.Columns, beneath: Iterator[Markup] | None = None) -> Markup:
    head = [tag("th", text, scope="col", class_=_side(table, at)) for at, text in enumerate(table.headers)]
    body = [_row(table, row, beneath) for row in table.rows]
    return tag(
        "div",
        tag("table", tag("thead", tag("tr", *head)), tag("tbody", *body)),
        class_="scroll",
        tabindex=0,
        role="region",
        aria_label=", ".join(filter(None, table.headers)) or "table",
    )


def _row(table: widgets.Columns, row: list[Cell], beneath: Iterator[Markup] | None) -> Markup:
    """Rows of callers, which belong to the row above, have nothing beneath."""
    cells = _cells(table, row)
    is_site = not str(row[-1]).startswith(CALLERS)
    if beneath is None or not is_site:
        return tag("tr", *cells)
    return tag("tr", *cells[:-1], tag("td", str(row[-1]), next(beneath), class_="text"))


def _side(table: widgets.Columns, column: int) -> str:
    return "text" if column in table.left else "num"


def _cells(table: widgets.Columns, row: list[Cell]) -> list[Child]:
    cells: list[Child] = []
    for at, cell in enumerate(row):
        text = cell.text if isinstance(cell, Styled) else cell
        side = _side(table, at)
        if text.startswith(CALLERS) and side == "text":
            depth = (len(text) - len(text.lstrip())) // len(CALLERS)
            cells.append(tag("td", text.strip(), class_=f"text callers in{min(depth, 4)}"))
        else:
            cells.append(tag("td", text, class_=side))
    return cells
