# SPDX-License-Identifier: MIT
"""top on a terminal: all processes, or one, with keys; what the last looks said of each."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import DataTable, Footer, Input, Static

from heapwright.live import show
from heapwright.live.outside import outside_lines
from heapwright.live.page import PageError
from heapwright.live.rates import SORT_KEYS
from heapwright.live.table import NOTHING_COUNTS, Shown, columns_for, heading_of, lost
from heapwright.report import units
from heapwright.terminal.pairs import Pairs
from heapwright.terminal.sparkline import sparkline

_WIDE = 1000  # all columns
_LEAST_NAME, _LEAST_HISTORY, _GAP = 8, 8, 2
_MOST_OUTSIDE = 3
# The columns that a narrow terminal keeps, most important first.
_PRIORITY = ("process", "calls_per_s", "live_bytes", "resident_bytes", "growth_bytes_per_s", "mean_ns",
             "lost_ns_per_s", "collisions_per_s", "anonymous_bytes", "anonymous_overhead", "p99_ns",
             "requested_bytes_per_s", "remote_frees_per_s", "threads", "live_blocks", "overhead")  # fmt: skip
_Row = dict[str, Any]
LOOKS = 120
KEPT = ("calls_per_s", "requested_bytes_per_s", "live_bytes", "resident_bytes", "anonymous_bytes", "mean_ns",
        "p99_ns", "collisions_per_s", "lost_ns_per_s", "remote_frees_per_s")  # fmt: skip
# Their bars do not begin at 0 but at the least, or at such a share of the most: 5 % more are half the height.
LEVELS = ("live_bytes", "resident_bytes", "anonymous_bytes")
_LEVELS_FROM = 0.9


class Looks(Protocol):
    """What looks at the processes; python/heapwright/live/looker.py."""

    sort: str
    process: int

    def again(self, told_of: int = 0) -> dict[str, Any]:
        """Takes one look; PageError: the one process has ended."""


class History:
    """Of the processes in the last look, and of no others. Another program under an id is another one."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int, str], deque[dict[str, Any]]] = {}

    def add(self, rows: Sequence[dict[str, Any]]) -> None:
        """One look."""
        fresh: dict[tuple[int, str], deque[dict[str, Any]]] = {}
        for row in rows:
            key = (row["process"], row["program"])
            fresh[key] = self._rows.get(key, deque(maxlen=LOOKS))
            fresh[key].append({name: row[name] for name in KEPT})
        self._rows = fresh

    def values(self, row: dict[str, Any], name: str) -> list[float]:
        """The earliest first; looks that did not tell are left out."""
        looks = self._rows.get((row["process"], row["program"]), ())
        return [look[name] for look in looks if look[name] is not None]

    def line(self, row: dict[str, Any], name: str, cells: int) -> str:
        """The last looks, one a cell, from base() to the largest; the newest stands at the right."""
        values = self.values(row, name)[-cells:]
        base = self.base(row, name, cells)
        bars = sparkline([value - base for value in values], max(values, default=0) - base, len(values))
        return (bars.replace(" ", "▁") if name in LEVELS else bars).rjust(cells)

    def base(self, row: dict[str, Any], name: str, cells: int) -> float:
        """Where the bars begin: 0 but for levels."""
        values = self.values(row, name)[-cells:]
        if name not in LEVELS or not values:
            return 0
        return max(0, min(*values, _LEVELS_FROM * max(values)))


# Each line fits a terminal of 60 columns.
_HELP = (
    ("enter", "one process; escape: all"),
    ("s, r", "sort by the next figure; reverse"),
    ("/", "only this id, or part of a name"),
    ("space", "freeze; the history goes on"),
    ("home, end", "the first process, the last"),
    ("q", "quit; the processes keep running"),
    ("", ""),
    ("program, pid", "its name as started, and its id"),
    ("calls, requested", "calls and bytes asked for, per second"),
    ("live, blocks", "bytes and blocks not released"),
    ("resident", "memory of the whole process"),
    ("res/live", "of it, per live byte"),
    ("growth", "of anonymous memory, last minute"),
    ("anon, anon/live", "memory of no file; per live byte"),
    ("mean, p99", "CPU time of a call, by timed calls"),
    ("threads", "those running"),
    ("collisions", "calls per second that wait for a lock"),
    ("lost", "their waits; 100 % is one thread's time"),
    ("remote", "cross-thread frees; libheapwright.so"),
    ("history", "of what sorts, newest at the right;"),
    ("", "of bytes: from the least, or 90 %"),
)


class Help(ModalScreen[None]):
    """The keys, and what the figures mean."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,question_mark,q,enter", "dismiss", "back")]
    CSS = "Help { align: center middle; } Help Static { width: 76; max-width: 100%; border: round $primary; }"

    def compose(self) -> ComposeResult:
        """One text."""
        yield Static(Pairs([(name, Text(text)) for name, text in _HELP], style="bold"))


class Processes(DataTable[Text]):
    """The rows; Home and End go to the first and the last."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("home", "scroll_top", show=False),
        Binding("end", "scroll_bottom", show=False),
    ]

    def seen(self) -> tuple[int, int]:
        """The first row on the screen, from 1, and the last."""
        first = round(self.scroll_y)
        height = self.scrollable_content_region.height - self.header_height
        return first + 1, min(self.row_count, first + height)


class Board(App[None]):
    """Looks every interval_s; 0: only on request, for tests."""

    CSS = """
    #title, #problems { height: auto; }
    #problems { color: $warning; }
    #one { display: none; }
    #filter { display: none; height: 3; }
    Board.-one #one { display: block; }
    Board.-one #table { display: none; }
    Board.-filter #filter { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "quit"),
        Binding("ctrl+c", "quit", show=False, priority=True),
        Binding("question_mark", "help", "help", key_display="?"),
        Binding("s", "sort", "sort"),
        Binding("r", "reverse", "reverse"),
        Binding("slash", "filter", "filter", key_display="/"),
        Binding("space", "freeze", "freeze"),
        Binding("escape", "back", "all"),
    ]
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, looks: Looks, interval_s: float) -> None:
        super().__init__()
        self.ended_by = ""  # why it ended
        self._looks = looks
        self._interval_s = interval_s
        self._history = History()
        self._document: dict[str, Any] = {"processes": [], "problems": []}
        self._has_looked = self._is_frozen = self._is_reversed = False
        self._told_of = looks.process
        self._wanted = ""

    def compose(self) -> ComposeResult:
        """Shows either the table or the one process."""
        yield Static(id="title", markup=False)
        yield Processes(id="table", cursor_type="row", cell_padding=1)
        with VerticalScroll(id="one"):
            yield Static(id="text", markup=False)
        yield Static(id="problems", markup=False)
        yield Input(id="filter", placeholder="name or id")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """The first look is one interval after start."""
        self._draw()
        self.query_one(DataTable).focus()
        self.watch(self.query_one(Processes), "scroll_y", self._show_title, init=False)
        if self._interval_s:
            self.set_interval(self._interval_s, self.look_again)

    async def look_again(self) -> None:
        """Reads the pages concurrently with the keys."""
        told_of = self._told_of
        try:
            document = await asyncio.to_thread(self._looks.again, told_of)
        except PageError as error:
            self.ended_by = str(error)
            self.exit()
            return
        if told_of != self._told_of:  # another process was selected meanwhile
            document.pop("process", None)
            document.pop("growing", None)
            document.pop("remedies", None)
        self._history.add(document["processes"])
        self._has_looked = True
        if not self._is_frozen:
            self._document = document
            self._draw()

    def on_resize(self) -> None:
        """Other columns may have room."""
        self._draw()

    def _rows(self) -> list[_Row]:
        rows: list[_Row] = [
            row
            for row in self._document["processes"]
            if self._wanted.lower() in row["program"].lower() or self._wanted == str(row["process"])
        ]
        key = self._looks.sort
        known = sorted((row for row in rows if row[key] is not None), key=lambda row: row["process"])
        known.sort(key=lambda row: row[key], reverse=not self._is_reversed)
        return known + [row for row in rows if row[key] is None]

    def _draw(self) -> None:
        rows = self._rows()
        self.set_class(self._told_of != 0, "-one")
        problems = list(self._document["problems"])
        if self._has_looked and not self._document["processes"]:
            problems.insert(0, NOTHING_COUNTS)
        problems = outside_lines(rows)[:_MOST_OUTSIDE] + problems
        self.query_one("#problems", Static).update("\n".join(problems))
        if self._told_of:
            self.query_one("#text", Static).update(self._one())
        else:
            self._fill(rows)
        self._show_title()
        self.call_after_refresh(self._show_title)  # the rows have their places then

    def _show_title(self) -> None:
        self.query_one("#title", Static).update(self._title(len(self._rows())))

    def _title(self, count: int) -> str:
        parts = [self._position(count) if self._has_looked else "looking"]
        parts.append(f"by {heading_of(self._looks.sort)}" + (", smallest first" if self._is_reversed else ""))
        if self._wanted:
            parts.append(f"only {self._wanted}")
        if self._is_frozen:
            parts.append("frozen")
        return "heapwright top: " + "; ".join(parts)

    def _position(self, count: int) -> str:
        text = units.counted(count, "process", "processes")
        first, last = self.query_one(Processes).seen()
        has_room = first == 1 and last == count
        return text if self._told_of or has_room or last < first else f"{first}–{last} of {text}"

    def _fill(self, rows: list[_Row]) -> None:
        """Rebuilds the table, with the cursor on the same process."""
        table = self.query_one(DataTable)
        chosen = self._chosen()
        table.clear(columns=True)
        width = self.size.width
        name_cells = min(
            max(_LEAST_NAME, width // 6), max([_LEAST_NAME, *(cell_len(row["program"]) for row in rows)])
        )
        shown, left = self._columns(rows, width - name_cells - _GAP)
        table.add_column("program", width=name_cells)
        for column, cells in shown:
            table.add_column(Text(column.heading, justify="right"), width=cells)
        kept = self._looks.sort if self._looks.sort in KEPT else "calls_per_s"
        table.add_column("history", width=left)
        for row in rows:
            name = Text(row["program"], no_wrap=True, overflow="ellipsis")
            texts = [Text(column.write(row[column.key]), justify="right") for column, _ in shown]
            line = Text(self._history.line(row, kept, left), style="cyan")
            table.add_row(name, *texts, line, key=str(row["process"]))
        ids = [row["process"] for row in rows]
        table.move_cursor(row=ids.index(chosen) if chosen in ids else 0)

    def _columns(self, rows: list[_Row], width: int) -> tuple[list[tuple[Shown, int]], int]:
        """The columns that fit besides the name, what sorts first; their widths, and the history's."""
        left = width - _LEAST_HISTORY - _GAP
        found: dict[str, int] = {}
        columns = [column for column in columns_for(rows, _WIDE) if column.key != "program"]
        sort = self._looks.sort
        for column in sorted(columns, key=lambda column: (column.key != sort, _PRIORITY.index(column.key))):
            cells = max([len(column.heading), *(cell_len(column.write(row[column.key])) for row in rows)])
            if cells + _GAP <= left:
                left -= cells + _GAP
                found[column.key] = cells
        shown = [(column, found[column.key]) for column in columns if column.key in found]
        return shown, min(left + _LEAST_HISTORY, LOOKS)

    def _chosen(self) -> int:
        table = self.query_one(DataTable)
        if not table.is_valid_row_index(table.cursor_row):
            return 0
        return int(table.coordinate_to_cell_key(table.cursor_coordinate).row_key.value or 0)

    def _one(self) -> RenderableType:
        row = next((row for row in self._document["processes"] if row["process"] == self._told_of), None)
        if row is None:
            return Text(f"process {self._told_of}: " + ("has ended" if self._has_looked else "looking"))
        lines = [("process", Text(f"{row['process']}, {row['program']}"))]
        cells = max(8, min(LOOKS, self.size.width - 40))
        for name, key, write in _HISTORIES:
            if row[key] is not None:
                lines.append((name, self._bars(row, key, cells, write)))
        parts: list[RenderableType] = [Pairs(lines, style="bold"), Text()]
        if "process" in self._document:
            parts.append(show.process_lines(self._document["process"], self._document["lately"]))
        if "growing" in self._document:
            parts += [Text(), show.growing_lines(self._document["growing"])]
        if "remedies" in self._document:
            parts += [Text(), show.remedy_lines(self._document["remedies"])]
        return Group(*parts)

    def _bars(self, row: _Row, key: str, cells: int, write: Callable[[float], str]) -> Text:
        """The figure, its bars, and what these reach to; from what, unless that is 0."""
        base = self._history.base(row, key, cells)
        begin = f"{write(base)} " if base else ""
        end = write(max(self._history.values(row, key)[-cells:]))
        text = Text(f"{write(row[key])}  {begin}")
        return text.append(self._history.line(row, key, cells).lstrip(), "cyan").append(f"  ≤ {end}")

    async def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """One process."""
        self._told_of = int(event.row_key.value or 0)
        self._document.pop("process", None)
        self._is_frozen = False
        self._draw()
        self.query_one("#one").focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """The table follows the typed text."""
        self._wanted = event.value.strip()
        self._draw()

    def on_input_submitted(self) -> None:
        """The keys work again."""
        self._leave_filter()

    def _leave_filter(self) -> None:
        self.remove_class("-filter")
        self.query_one(DataTable).focus()

    async def action_back(self) -> None:
        """From one process to all; leaves and clears the filter."""
        if self.has_class("-filter"):
            self.query_one(Input).value = ""
            self._leave_filter()
        elif not self._looks.process:
            self._told_of = 0
            self._draw()
            self.query_one(DataTable).focus()

    def action_help(self) -> None:
        """Over the rest."""
        self.push_screen(Help())

    def action_sort(self) -> None:
        """By the next figure."""
        self._looks.sort = SORT_KEYS[(SORT_KEYS.index(self._looks.sort) + 1) % len(SORT_KEYS)]
        self._draw()

    def action_reverse(self) -> None:
        """Reverses the order."""
        self._is_reversed = not self._is_reversed
        self._draw()

    def action_filter(self) -> None:
        """A line to type in."""
        if not self._told_of:
            self.add_class("-filter")
            self.query_one(Input).focus()

    def action_freeze(self) -> None:
        """Freezes the display."""
        self._is_frozen = not self._is_frozen
        self._draw()


def _bytes(value: float) -> str:
    return show.size(round(value))


_HISTORIES = (
    ("calls", "calls_per_s", lambda value: units.number(value, "per_s")),
    ("live", "live_bytes", _bytes),
    ("resident", "resident_bytes", _bytes),
    ("anonymous", "anonymous_bytes", _bytes),
    ("p99", "p99_ns", units.duration),
    ("collisions", "collisions_per_s", lambda value: units.number(value, "per_s")),
    ("lost", "lost_ns_per_s", lost),
    ("remote", "remote_frees_per_s", lambda value: units.number(value, "per_s")),
)
