# SPDX-License-Identifier: MIT
# length: one layout, from the columns' widths to names that are cut or broken
"""Tables: columns of figures keep their width, columns of text are cut in the middle to fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from rich.text import Text

from heapwright.terminal.spelling import in_ascii

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions

# Separator of call paths; a path that does not fit is wrapped over several lines.
PATH_MARK = " < "
# Cells with this prefix are the callers of the row above: on one line, all but the outermost may be omitted.
CALLERS = "  "
# Of a C++ function's name: half of the cells that a name has in a narrow table.
_SAYS_NOTHING = "(anonymous namespace)::"
_GAP = 2
# A name cut shorter than this is useless: the last column then gets separate lines.
_LEAST_NAME = 32
_LEAST_TEXT = 12
# Beside what could stand below it, a name has more, and that this much.
_LEAST_BESIDE = 48
_LEAST_ASIDE = 28
_INDENT = 4


class Styled(NamedTuple):
    """A cell with its own style."""

    text: str
    style: str


Cell = str | Styled
# A row may have a cell of several lines: the cells of one printed line each.
Line = list[str]


class Columns:
    """A table for rich's consoles, laid out for the console's width."""

    def __init__(
        self,
        headers: Sequence[str],
        rows: Iterable[Sequence[Cell]],
        *,
        text_columns: Sequence[int] = (),
        left_columns: Sequence[int] = (),
        centred: bool = False,
        groups: Mapping[int, str] | None = None,
        asides: Sequence[int] = (),
    ) -> None:
        """groups: by row number, the line above it, for the rows until the next one.

        asides: text columns that stand below the last one, with their heading, where there is no room.
        """
        self._groups = groups or {}
        self._asides = tuple(asides)
        self._headers = list(headers)
        self._rows = [list(row) for row in rows]
        self._text = frozenset(text_columns)
        self._left = frozenset((*text_columns, *left_columns))
        self._centred = centred

    @property
    def headers(self) -> Sequence[str]:
        """The headings as they were given."""
        return self._headers

    @property
    def rows(self) -> Sequence[list[Cell]]:
        """The cells as they were given."""
        return self._rows

    @property
    def left(self) -> frozenset[int]:
        """The columns whose cells stand to the left."""
        return self._left

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        table = _Table(
            [_spelt(header, options.ascii_only) for header in self._headers],
            [[_spelt(_text_of(cell), options.ascii_only) for cell in row] for row in self._rows],
            self._text,
            "..." if options.ascii_only else "…",
            names_rows=self._centred or 0 in self._left,
            asides=self._asides,
        )
        styles = [[cell.style if isinstance(cell, Styled) else "" for cell in row] for row in self._rows]
        for number, part in enumerate(table.parts(options.max_width)):
            if number:
                yield _line("")
            yield from self._lines(table, part, styles, options)

    def _lines(
        self, table: _Table, part: _Part, styles: Sequence[Sequence[str]], options: ConsoleOptions
    ) -> Iterator[Text]:
        headers = [
            _wrapped(table.headers[i], width) for i, width in zip(part.columns, part.widths, strict=True)
        ]
        height = max(map(len, headers), default=0)
        for number in range(height):
            line = _line("")
            for at, i in enumerate(part.columns):
                row = number - (height - len(headers[at]))  # at the foot
                line.append(" " * _GAP if at else "")
                line.append(self._aligned(i, headers[at][row] if row >= 0 else "", part.widths[at]), "bold")
            yield _trimmed(line)
        if part.below is not None:
            heading = _line(" " * _INDENT)
            heading.append(table.headers[part.below], "bold")
            yield heading
        yield _line(("-" if options.ascii_only else "─") * part.rule(options.max_width))
        for number, (cells, row_styles) in enumerate(zip(table.rows, styles, strict=True)):
            if number in self._groups:
                heading = _line("")
                text = _spelt(self._groups[number], options.ascii_only)
                heading.append(cut_middle(text, options.max_width, table.ellipsis), "bold")
                yield heading
            yield from self._row(table, part, cells, row_styles, options.max_width)

    def _row(
        self, table: _Table, part: _Part, cells: Sequence[str], styles: Sequence[str], width: int
    ) -> Iterator[Text]:
        texts = [table.lines(i, cells[i], part.widths[at]) for at, i in enumerate(part.columns)]
        for number in range(max(map(len, texts)) if any(map(any, texts)) else 0):
            line = _line("")
            for at, i in enumerate(part.columns):
                text = texts[at][number] if number < len(texts[at]) else ""
                line.append(" " * _GAP if at else "")
                style = styles[i] or ("cyan" if i in self._left else "")
                line.append(self._aligned(i, text, part.widths[at]), style)
            yield _trimmed(line)
        if part.below is not None:
            for text in table.lines(part.below, cells[part.below], max(_LEAST_TEXT, width - _INDENT)):
                line = _line(" " * _INDENT)
                line.append(text, "cyan")
                yield line
        for text in table.below(part, cells, width):
            line = _line("")
            line.append(text, "cyan")
            yield line

    def _aligned(self, column: int, text: str, width: int) -> str:
        missing = max(0, width - cell_len(text))
        if column in self._left:
            return text + " " * missing
        left = missing // 2 if self._centred and column else missing
        return " " * left + text + " " * (missing - left)


class _Part(NamedTuple):
    """Columns that stand side by side, their widths, and the column that has lines of its own below."""

    columns: list[int]
    widths: list[int]
    below: int | None = None
    asides: tuple[int, ...] = ()

    def rule(self, width: int) -> int:
        own = sum(self.widths) + _GAP * (len(self.widths) - 1)
        return own if self.below is None else max(own, min(width, own + _LEAST_NAME))


class _Table:
    """The texts, and how they are spread over a width."""

    def __init__(
        self,
        headers: list[str],
        rows: list[list[str]],
        text: frozenset[int],
        ellipsis: str,
        names_rows: bool,
        asides: tuple[int, ...] = (),
    ) -> None:
        self._asides = asides
        self.headers = headers
        self.rows = rows
        self._text = text
        self.ellipsis = ellipsis
        self._names_rows = names_rows  # the first column does
        self._alike: dict[tuple[int, int], set[str]] = {}

    def parts(self, width: int) -> list[_Part]:
        """One part if all fits; else the last text in lines of its own; else several parts in turn."""
        columns = list(range(len(self.headers)))
        if not self._asides:
            return self._parts(columns, width)
        widths = self._widths(columns, width, wraps=False)
        if widths is not None:
            return [_Part(columns, widths)]
        kept = [column for column in columns if column not in self._asides]
        *others, last = self._parts(kept, width)
        return [*others, last._replace(asides=self._asides)]

    def _parts(self, columns: list[int], width: int) -> list[_Part]:
        last = columns[-1] if columns and columns[-1] in self._text and len(columns) > 1 else None
        for wraps in (False, True):
            widths = self._widths(columns, width, wraps)
            if widths is not None:
                return [_Part(columns, widths)]
        if last is not None:
            for wraps in (False, True):
                widths = self._widths(columns[:-1], width, wraps)
                if widths is not None:
                    return [_Part(columns[:-1], widths, last)]
        return self._blocks(columns, width)

    def _blocks(self, columns: list[int], width: int) -> list[_Part]:
        """The first column is repeated where it names the row."""
        names = columns[:1] if self._names_rows else []
        parts: list[_Part] = []
        rest = columns[len(names) :]
        while rest:
            count = len(rest)
            while count > 1 and self._widths(names + rest[:count], width, True) is None:
                count -= 1
            chosen = names + rest[:count]
            found = self._widths(chosen, width, True)
            parts.append(_Part(chosen, found or [self._least(column, True) for column in chosen]))
            rest = rest[count:]
        return parts

    def _widths(self, columns: Sequence[int], width: int, wraps: bool) -> list[int] | None:
        """Each column's width; None when figures or names would have to be cut too short."""
        room = width - _GAP * (len(columns) - 1)
        beside = any(column in self._asides for column in columns)
        least = [self._least(column, wraps, beside) for column in columns]
        wanted = [
            max(low, min(self._natural(column, wraps), room))
            for column, low in zip(columns, least, strict=True)
        ]
        if sum(least) > room:
            return None
        while sum(wanted) > room:
            longest = max(
                (at for at in range(len(columns)) if wanted[at] > least[at]), key=wanted.__getitem__
            )
            wanted[longest] -= 1
        return wanted

    def _natural(self, column: int, wraps: bool) -> int:
        header = self.headers[column]
        heading = max(map(cell_len, header.split()), default=0) if wraps else cell_len(header)
        return max([heading, *(cell_len(row[column]) for row in self.rows)])

    def _least(self, column: int, wraps: bool, beside: bool = False) -> int:
        natural = self._natural(column, wraps)
        if column not in self._text:
            return natural
        is_name = column == len(self.headers) - 1
        if beside:
            return min(natural, _LEAST_BESIDE if is_name else _LEAST_ASIDE)
        return min(natural, _LEAST_NAME if is_name else _LEAST_TEXT)

    def below(self, part: _Part, cells: Sequence[str], width: int) -> Iterator[str]:
        """The lines of what has no room beside the others, below the last column."""
        indent = _INDENT if part.below is not None else sum(part.widths[:-1]) + _GAP * (len(part.widths) - 1)
        for column in part.asides:
            if cells[column]:
                text = f"{CALLERS}{self.headers[column]}: {cells[column]}"
                yield " " * indent + cut_middle(text, max(_LEAST_TEXT, width - indent), self.ellipsis)

    def lines(self, column: int, text: str, width: int) -> list[str]:
        """The cell's lines; only text is ever cut, and only where no other then looks the same."""
        alike = self._alike.get((column, width))
        if alike is None:
            alike = self._alike[column, width] = self._alike_when_cut(column, width)
        return broken(text, width) if text in alike else self._fitted(column, text, width)

    def _alike_when_cut(self, column: int, width: int) -> set[str]:
        texts: dict[tuple[str, ...], set[str]] = {}
        for row in self.rows:
            texts.setdefault(tuple(self._fitted(column, row[column], width)), set()).add(row[column])
        return {text for same in texts.values() if len(same) > 1 for text in same}

    def _fitted(self, column: int, text: str, width: int) -> list[str]:
        if column not in self._text or cell_len(text) <= width:
            return [text]
        if text.startswith(CALLERS):
            return [cut_callers(text, width, self.ellipsis)]
        first, *others = text.split(PATH_MARK)
        return [
            cut_middle(part, width, self.ellipsis)
            for part in (first, *(PATH_MARK.lstrip() + other for other in others))
        ]


def cut_middle(text: str, width: int, ellipsis: str = "…") -> str:
    """The text in at most width cells: its beginning and its end; what says nothing is left out first.

    >>> cut_middle("shop::Basket::add  shop/basket.cpp:120", 27)
    'shop::Basket:…asket.cpp:120'
    >>> cut_middle("(anonymous namespace)::keep_session  shop/server.cpp:31", 40)
    'keep_session  shop/server.cpp:31'
    """
    if cell_len(text) > width:
        text = text.replace(_SAYS_NOTHING, "")
    if cell_len(text) <= width:
        return text
    room = max(0, width - cell_len(ellipsis))
    head = _first_cells(text, (room + 1) // 2)
    tail = _first_cells(text[::-1], room - cell_len(head))[::-1]
    return head + ellipsis + tail


def cut_callers(text: str, width: int, ellipsis: str = "…") -> str:
    """As many of the nearest callers as fit, and the outermost.

    >>> cut_callers("  < parse < load < read_config < start < main", 30)
    '  < parse < load < … < main'
    """
    names = text.split(PATH_MARK)
    for count in range(len(names) - 1, 1, -1):
        end = [ellipsis] if names[-1] == ellipsis else [ellipsis, names[-1]]
        shorter = PATH_MARK.join([*names[:count], *end])
        if cell_len(shorter) <= width:
            return shorter
    return cut_middle(text, width, ellipsis)


def broken(text: str, width: int) -> list[str]:
    """The whole text on several lines, where it can be between two callers.

    >>> broken("  < parse_json < load_settings < main", 24)
    ['  < parse_json', '      < load_settings', '      < main']
    """
    indent = min(len(text) - len(text.lstrip(" ")) + _INDENT, width // 2)
    lines = []
    while cell_len(text) > width:
        head = len(_first_cells(text, width))
        at = text.rfind(PATH_MARK, indent, head + len(PATH_MARK))
        at = at if at > indent else head
        lines.append(text[:at])
        text = " " * indent + text[at:].lstrip(" ")
    return [*lines, text]


def _first_cells(text: str, width: int) -> str:
    taken = 0
    for number, letter in enumerate(text):
        taken += cell_len(letter)
        if taken > width:
            return text[:number]
    return text


def _wrapped(header: str, width: int) -> list[str]:
    lines = [""]
    for word in header.split():
        joined = f"{lines[-1]} {word}".strip()
        if cell_len(joined) <= width or not lines[-1]:
            lines[-1] = joined
        else:
            lines.append(word)
    return lines


def _text_of(cell: Cell) -> str:
    return cell.text if isinstance(cell, Styled) else cell


def _spelt(text: str, is_ascii: bool) -> str:
    return in_ascii(text) if is_ascii else text


def _line(text: str) -> Text:
    # Where not even the figures fit, the terminal breaks the line: nothing is cut off.
    return Text(text, no_wrap=True, overflow="ignore")


def _trimmed(line: Text) -> Text:
    line.rstrip()
    return line
