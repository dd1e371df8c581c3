# SPDX-License-Identifier: MIT
"""The look of the tables: numbers to the right, the site last and cut to fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from heapwright.explain import look
from heapwright.explain.report import Answer

if TYPE_CHECKING:
    from heapwright.terminal.columns import Cell

Column = tuple[str, Callable[[Answer], str]]


def plain(
    headers: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    text_columns: Sequence[int] = (),
    left_columns: Sequence[int] = (),
    centred: bool = False,
) -> look.Columns:
    """A table of numbers, none of them ever cut.

    text_columns are aligned to the left, and cut in the middle where there is
    no room; left_columns are never cut.
    """
    return look.Columns(headers, rows, text_columns=text_columns, left_columns=left_columns, centred=centred)


def by_site(answer: Answer, columns: Sequence[Column]) -> look.Columns | None:
    """The answer's "sites" with the given columns and the site's name last."""
    sites: list[Answer] = answer["sites"]
    if not sites:
        return None
    headers = [header for header, _ in columns] + ["call site"]
    rows = [[text(site) for _, text in columns] + [site["name"]] for site in sites]
    return plain(headers, rows, text_columns=(len(columns),))
