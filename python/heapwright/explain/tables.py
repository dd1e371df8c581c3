# SPDX-License-Identifier: MIT
"""The look of the tables: numbers to the right, the site last and cut to fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from heapwright.explain import look
from heapwright.explain.report import Answer

Column = tuple[str, Callable[[Answer], str]]


def plain(
    headers: Sequence[str], rows: Iterable[Sequence[str]], *, text_columns: Sequence[int] = ()
) -> look.Table:
    """A table of numbers; text_columns are aligned to the left."""
    table = look.Table(
        box=look.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", expand=False
    )
    for number, header in enumerate(headers):
        is_text = number in text_columns
        table.add_column(
            header,
            justify="left" if is_text else "right",
            no_wrap=True,
            overflow="ellipsis",
            style="cyan" if is_text else "",
        )
    for row in rows:
        table.add_row(*(look.Text(cell) for cell in row))
    return table


def by_site(answer: Answer, columns: Sequence[Column]) -> look.Table | None:
    """The answer's "sites" with the given columns and the site's name last."""
    sites: list[Answer] = answer["sites"]
    if not sites:
        return None
    headers = [header for header, _ in columns] + ["call site"]
    rows = [[text(site) for _, text in columns] + [site["name"]] for site in sites]
    return plain(headers, rows, text_columns=(len(columns),))
