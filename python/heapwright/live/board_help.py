# SPDX-License-Identifier: MIT
"""The board's keys, and the meaning of its figures."""

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
    ("s, r", "sort by the next figure; reverse the order"),
    ("/", "only programs with this in their name, or the process of this id; empty: all"),
    ("space", "freeze the display; the history goes on"),
    ("q", "quit; the processes keep running"),
    ("", ""),
    ("live", "bytes of blocks allocated and not released"),
    ("res/live", "resident memory per live byte"),
    ("mean, p99", "CPU time of a call, from the timed calls"),
    ("contended", "lock acquisitions of libheapwright.so that had to wait, per second"),
    ("remote", "cross-thread frees per second; libheapwright.so only"),
    ("history", "calls per second in the last looks, newest at the right"),
)
