# SPDX-License-Identifier: MIT
"""Trees on a terminal: what is open, one node's place in the sources, keys."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import DataTable, Footer, Input, Static

from heapwright.browse.opened import SORTS, Line, Opened
from heapwright.browse.trees import Node, SpanError, Trees, Within
from heapwright.terminal.pairs import Pairs

_FIGURES = (10, 7, 10)  # cells of the columns before the names
_GAP = 2
_LEAST_NAME = 12
_DEEPEST_INDENT = 30
_OF_TEXT = "text in a name"
_OF_SPAN = "from, and until: 2s 5s, or -30s; nothing: all of it"
_HELP = (
    ("enter, →", "open the line; with it what has nearly all of its weight"),
    ("←", "close it, or go to the line above it"),
    ("e", "open the heaviest line of each level below"),
    ("c", "close all"),
    ("m, M", "the next, the previous measure"),
    ("d", "from the other end: callers down, or from the allocation up"),
    ("s", "sort by the whole, by its own, by name"),
    ("/", "only what has this text in some name; enter keeps it, escape clears it"),
    ("t", "only of a time: from, and until, as --from and --until take them"),
    ("q", "quit"),
    ("", ""),
    ("whole, share", "of the line and all below it, and its share of everything shown"),
    ("own", "what no line below it has"),
)  # fmt: skip


class Help(ModalScreen[None]):
    """The keys, and what the figures mean."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,question_mark,q,enter", "dismiss", "back")]
    CSS = "Help { align: center middle; } Help Static { width: 76; max-width: 100%; border: round $primary; }"

    def compose(self) -> ComposeResult:
        """One text."""
        yield Static(Pairs([(name, Text(text)) for name, text in _HELP], style="bold"))


class Room(App[None]):
    """One tree at a time, and of the line with the cursor its place."""

    CSS = """
    #title { height: auto; text-style: bold; }
    #place { height: 4; border-top: solid $primary; }
    #filter { display: none; height: 3; }
    Room.-filter #filter { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "quit"),
        Binding("ctrl+c", "quit", show=False, priority=True),
        Binding("question_mark", "help", "help", key_display="?"),
        Binding("right", "open", show=False, priority=True),
        Binding("left", "close", show=False, priority=True),
        Binding("e", "heaviest", "heaviest"),
        Binding("m", "measure(1)", "measure"),
        Binding("M", "measure(-1)", show=False),
        Binding("d", "end", "other end"),
        Binding("s", "sort", "sort"),
        Binding("slash", "filter", "filter", key_display="/"),
        Binding("t", "span", "time"),
        Binding("c", "close_all", show=False),
        Binding("escape", "clear", show=False),
    ]
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, trees: Trees, within: Within | None = None) -> None:
        """within: None = these have no time."""
        super().__init__()
        self._trees = trees
        self._within = within
        self._span = ""
        self._is_of_span = False  # what is typed
        self._opened = Opened(trees)
        self._lines: list[Line] = []

    def compose(self) -> ComposeResult:
        """The table takes what room is left."""
        yield Static(id="title", markup=False)
        table: DataTable[Text] = DataTable(id="table", cursor_type="row", cell_padding=1)
        yield table
        yield Static(id="place", markup=False)
        yield Input(id="filter", placeholder=_OF_TEXT)
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """The keys go to the table."""
        self._draw()
        self.query_one(DataTable).focus()

    def on_resize(self) -> None:
        """Names may have more room."""
        self._draw()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a text is typed, arrows move in it."""
        if action == "span" and self._within is None:
            return False
        return not (self.has_class("-filter") and action in ("open", "close"))

    def _draw(self, path: object = None) -> None:
        """Rebuilds the table with the cursor on the same line, or on that of the path."""
        table = self.query_one(DataTable)
        path = self._path() if path is None else path
        self._lines = self._opened.lines()
        self.query_one("#title", Static).update(self._title())
        table.clear(columns=True)
        name_cells = max(_LEAST_NAME, self.size.width - sum(_FIGURES) - 4 * _GAP)
        for heading, cells in zip((self._opened.measure, "share", "own"), _FIGURES, strict=True):
            table.add_column(Text(heading, justify="right"), width=cells)
        table.add_column("name", width=name_cells)
        for line in self._lines:
            table.add_row(*self._cells(line))
        at = next((number for number, line in enumerate(self._lines) if line.path == path), 0)
        table.move_cursor(row=at)
        self._draw_place()

    def _title(self) -> str:
        opened = self._opened
        about = next(one.about for one in self._trees.measures if one.name == opened.measure)
        total = self._trees.written(opened.measure, opened.root.weight)
        parts = [f"{total} {about}", f"from {opened.end}", f"by {opened.sort}"]
        if opened.text:
            parts.append(f"only with {opened.text}")
        if self._span:
            parts.append(f"only of {self._span}")
        return f"{self._trees.title}: " + ", ".join(parts)

    def _cells(self, line: Line) -> list[Text]:
        whole = self._opened.root.weight
        figures = (
            self._written(line.weight),
            f"{100 * line.weight / whole:.1f} %" if whole else "",
            self._written(line.own) if line.own else "",
        )
        mark = ("▾ " if line.is_open else "▸ ") if line.has_inner else "  "
        indent = " " * min(line.level, _DEEPEST_INDENT)
        name = Text(indent + mark, no_wrap=True, overflow="ellipsis")
        if line.node is None:
            name.append(f"{line.smaller} smaller ones", "dim")
        else:
            name.append(line.node.name)
            if self._opened.text:
                name.highlight_words([self._opened.text], "bold yellow", case_sensitive=False)
        return [*(Text(figure, justify="right") for figure in figures), name]

    def _written(self, weight: int) -> str:
        return self._trees.written(self._opened.measure, weight)

    def _line(self) -> Line | None:
        table = self.query_one(DataTable)
        return self._lines[table.cursor_row] if table.cursor_row < len(self._lines) else None

    def _path(self) -> object:
        line = self._line()
        return line.path if line is not None else ()

    def _draw_place(self) -> None:
        line = self._line()
        texts = _place_of(line.node) if line is not None and line.node is not None else []
        if not self._lines:
            texts = [f"no name has {self._opened.text}" if self._opened.text else "nothing to show"]
        lines = [Text(text, no_wrap=True, overflow="ellipsis") for text in texts]
        self.query_one("#place", Static).update(Text("\n").join(lines))

    def on_data_table_row_highlighted(self) -> None:
        """The place is that of the line with the cursor."""
        self._draw_place()

    def on_data_table_row_selected(self) -> None:
        """Enter opens and closes."""
        line = self._line()
        if line is not None and line.is_open:
            self.action_close()
        else:
            self.action_open()

    def action_open(self) -> None:
        """The line with the cursor."""
        line = self._line()
        if line is not None and line.has_inner:
            self._opened.open(line.path)
            self._draw(line.path)

    def action_close(self) -> None:
        """It, or the cursor goes up a level."""
        line = self._line()
        if line is not None:
            self._draw(self._opened.close(line.path))

    def action_heaviest(self) -> None:
        """The cursor goes to the end of the heaviest path."""
        line = self._line()
        if line is not None and line.has_inner:
            self._draw(self._opened.open_heaviest(line.path))

    def action_close_all(self) -> None:
        """Only the first level."""
        self._opened.close_all()
        self._draw()

    def action_measure(self, by: int) -> None:
        """What is open stays open."""
        names = [measure.name for measure in self._trees.measures]
        self._opened.show(measure=names[(names.index(self._opened.measure) + by) % len(names)])
        self._draw()

    def action_end(self) -> None:
        """Begins from the next end."""
        ends = self._trees.ends
        self._opened.show(end=ends[(ends.index(self._opened.end) + 1) % len(ends)])
        self._draw()

    def action_sort(self) -> None:
        """By the next order."""
        self._opened.sort = SORTS[(SORTS.index(self._opened.sort) + 1) % len(SORTS)]
        self._draw()

    def action_help(self) -> None:
        """Over the rest."""
        self.push_screen(Help())

    def action_filter(self) -> None:
        """A line to type in."""
        self._ask(False, _OF_TEXT, self._opened.text)

    def action_span(self) -> None:
        """The same line, for a time."""
        self._ask(True, _OF_SPAN, self._span)

    def _ask(self, is_of_span: bool, placeholder: str, now: str) -> None:
        self._is_of_span = is_of_span
        line = self.query_one(Input)
        line.placeholder, line.value = placeholder, now
        self.add_class("-filter")
        line.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """The tree of what has the text, or of the time; the keys work again."""
        if self._is_of_span:
            self._choose_span(" ".join(event.value.split()))
        else:
            self._choose(event.value.strip())

    def action_clear(self) -> None:
        """Everything again; while a time is typed, that is left as it was."""
        if self.has_class("-filter") and self._is_of_span:
            self._leave()
            return
        self._choose("")

    def _choose(self, text: str) -> None:
        self._leave()
        if text != self._opened.text:
            self._opened.show(text=text)
            self._draw()

    def _choose_span(self, span: str) -> None:
        self._leave()
        if self._within is None or span == self._span:
            return
        self.query_one("#title", Static).update("reading")
        self.call_after_refresh(self._read_span, span)

    def _read_span(self, span: str) -> None:
        assert self._within is not None
        try:
            self._trees = self._within(span)
        except SpanError as error:
            self.query_one("#title", Static).update(self._title())
            self.query_one("#place", Static).update(Text(str(error)))
            return
        self._span = span
        self._opened.replace(self._trees)
        self._draw()

    def _leave(self) -> None:
        self.remove_class("-filter")
        self.query_one(DataTable).focus()


def _place_of(node: Node) -> list[str]:
    """The whole name, the file and line, and what stands there if the file is on this machine."""
    place = node.place
    where = f"{place.file}:{place.line}" if place.line else place.file
    texts = [node.whole_name, "  ".join(filter(None, (where, place.module)))]
    if place.line:
        with suppress(OSError, IndexError):
            lines = Path(place.file).read_text(encoding="utf-8", errors="replace").splitlines()
            texts.append(f"{place.line:>6}  {lines[place.line - 1].strip()}")
    return texts
