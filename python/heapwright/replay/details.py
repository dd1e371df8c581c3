# SPDX-License-Identifier: MIT
"""A table below the decision: grouped in a terminal, flat in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from heapwright.report import markdown, terminal
from heapwright.report.columns import Column, Record

if TYPE_CHECKING:
    from rich.console import Console


class Detail(NamedTuple):
    """about: the line above it. grouped: the columns that heading() shows for a group of rows."""

    about: str
    columns: Sequence[Column]
    rows: Sequence[Record]
    grouped: Sequence[str]
    heading: Callable[[Record], str]

    def on_console(self, console: Console) -> None:
        """In groups, to keep it narrow: what their rows share is shown once above them."""
        console.print()
        console.print(self.about, markup=False)
        console.print()
        own = [column for column in self.columns if column.key not in self.grouped]
        console.print(terminal.grouped(own, self.rows, self.heading))

    def as_markdown(self) -> list[str]:
        """All columns in each row."""
        cells = [[column.written(row, {}) for column in self.columns] for row in self.rows]
        return ["", self.about, "", *markdown.table([str(c.label) for c in self.columns], cells)]
