# SPDX-License-Identifier: MIT
"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]], sides: str = "") -> list[str]:
    """The lines, an empty one last; the first column to the left, figures to the right.

    sides: of each column, l or r.

    >>> table(["", "ns"], [["malloc", "12"]])
    ['|  | ns |', '|---|--:|', '| malloc | 12 |', '']
    """
    marks = ("---" if side == "l" else "--:" for side in sides or "l".ljust(len(head), "r"))
    lines = [_row(head), f"|{'|'.join(marks)}|"]
    return [*lines, *map(_row, rows), ""]


def escaped(text: str) -> str:
    """Without signs that Markdown would take for its own.

    >>> escaped("parse_line<int>")
    'parse\\\\_line\\\\<int\\\\>'
    >>> escaped("[x](y) |")
    '\\\\[x\\\\](y) \\\\|'
    """
    for sign in "\\|<>[]*_`":
        text = text.replace(sign, f"\\{sign}")
    return text


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
