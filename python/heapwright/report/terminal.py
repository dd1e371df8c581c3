# SPDX-License-Identifier: MIT
"""Tables of columns for terminals: numbers to the right, names to the left, what is shown of them in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from heapwright.report import widgets
from heapwright.report.columns import ASIDE, BAR, TEXT, WORD, Column, Record


def table(
    columns: Sequence[Column], records: Iterable[Record], answer: Record | None = None
) -> widgets.Columns:
    """The columns that have a heading."""
    around = answer or {}
    shown = headed(columns, around)
    rows = [[column.written(record, around) for column, _ in shown] for record in records]
    return of_cells(shown, rows)


def grouped(
    columns: Sequence[Column], records: Sequence[Record], heading: Callable[[Record], str]
) -> widgets.Columns:
    """The same in groups: what heading() says of its records stands above them once."""
    texts = [heading(record) for record in records]
    groups = {number: text for number, text in enumerate(texts) if not number or texts[number - 1] != text}
    shown = headed(columns, {})
    rows = [
        ["  " * (not at) + column.written(record, {}) for at, (column, _) in enumerate(shown)]
        for record in records
    ]
    return of_cells(shown, rows, groups)


def headed(columns: Sequence[Column], answer: Record) -> list[tuple[Column, str]]:
    """The columns with their headings; a bar's is a space."""
    return [(column, heading.strip()) for column in columns if (heading := column.heading(answer))]


def of_cells(
    shown: Sequence[tuple[Column, str]],
    rows: Iterable[Sequence[str]],
    groups: Mapping[int, str] | None = None,
) -> widgets.Columns:
    """The same from cells; text is cut where there is no room, figures and words never are."""

    def places(*names: str) -> list[int]:
        return [number for number, (column, _) in enumerate(shown) if column.unit in names]

    headings = [heading for _, heading in shown]
    return widgets.Columns(
        headings,
        rows,
        text_columns=places(TEXT, ASIDE),
        left_columns=places(WORD, BAR),
        groups=groups,
        asides=places(ASIDE),
    )
