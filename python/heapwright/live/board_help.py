# SPDX-License-Identifier: MIT
"""What the board's keys do, and what its figures mean."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Static

from heapwright.terminal.pairs import Pairs


class Help(ModalScreen[None]):
    """The keys, and what the figures mean."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,question_mark,q,enter", "dismiss", "back")]
    CSS = "Help { align: center middle; } Help Static { width: 76; max-width: 100%; border: round $primary; }"

    def compose(self) -> ComposeResult:
        """One text."""
        yield Static(Pairs([(name, Text(text)) for name, text in _HELP], style="bold"))


_HELP = (
    ("enter", "one process: history, calls, sizes, growing sites; escape: all"),
    ("s, r", "sort by the next figure; the other way round"),
    ("/", "only programs with this in their name, or the process of this id; empty: all"),
    ("space", "freeze what is shown; what goes on meanwhile is in the history"),
    ("q", "end; the processes run on"),
    ("", ""),
    ("live", "bytes of blocks that were made and not released"),
    ("res/live", "resident memory by live bytes: what the process takes for each byte in use"),
    ("mean, p99", "time of a call on the processor, of the calls that were timed"),
    ("contended", "lock acquisitions of our own heap that had to wait, a second"),
    ("remote", "blocks that another thread freed than had made them, a second; our own heap"),
    ("history", "calls a second in the last looks, the newest at the right"),
)
