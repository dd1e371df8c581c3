# SPDX-License-Identifier: MIT
"""Pairs of name and text: long texts are wrapped beside their name, nothing is cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions

_LEAST_WIDTH = 20


class Pairs:
    """Rows of a name and a text."""

    def __init__(self, rows: Sequence[tuple[str, Text]], *, style: str = "", gap: int = 2) -> None:
        self._rows = rows
        self._style = style
        self._gap = gap

    @property
    def rows(self) -> Sequence[tuple[str, Text]]:
        """The names and texts as they were given."""
        return self._rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        beside = max((cell_len(name) for name, _ in self._rows), default=0) + self._gap
        width = max(_LEAST_WIDTH, options.max_width - beside)
        for name, text in self._rows:
            for number, part in enumerate(text.wrap(console, width, overflow="fold")):
                line = Text(no_wrap=True, overflow="ignore")
                line.append(name if number == 0 else "", self._style)
                line.append(" " * (beside - cell_len(line.plain)))
                line.append_text(part)
                line.rstrip()
                yield line
