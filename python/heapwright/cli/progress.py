# SPDX-License-Identifier: MIT
"""Progress on stderr: a bar on a terminal, otherwise lines when it takes long."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from heapwright.cli.streams import say

if TYPE_CHECKING:
    from heapwright.model.trace import Progress as Report

_QUIET_SECONDS = 2.0


@contextmanager
def progress(what: str) -> Iterator[Report]:
    """Yields a function to call with the amount done and the total."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        console = Console(stderr=True)
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(what, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
        return
    yield _Lines(what)


class _Lines:
    """For logs: nothing for short work, later a line every few seconds."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._next = time.monotonic() + _QUIET_SECONDS

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _QUIET_SECONDS
        share = 100 * done // total if total else 0
        say(f"heapwright: {self._what}, {share} %")
