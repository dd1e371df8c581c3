# SPDX-License-Identifier: MIT
"""Progress of runs on stderr: what is running, how much is done, the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from heapwright.report import units

# What is running, runs done, total runs.
Report = Callable[[str, int, int], object]
_LINE_EVERY_S = 10.0


@contextmanager
def progress() -> Iterator[Report]:
    """A bar on a terminal, otherwise a line every ten seconds."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines()
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda what, done, total: bar.update(task, description=what, completed=done, total=total)


class _Lines:
    def __init__(self) -> None:
        self._start = time.monotonic()
        self._next = self._start + _LINE_EVERY_S
        self._done = 0

    def __call__(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if done < self._done:  # other runs begin, which take another time
            self._start = now
        self._done = done
        if now < self._next or done == 0:
            return
        self._next = now + _LINE_EVERY_S
        left = (now - self._start) / done * (total - done)
        with suppress(OSError):
            sys.stderr.write(
                f"heapwright: {done} of {total} runs, about {units.duration(left * 1e9)} left; {what}\n"
            )
            sys.stderr.flush()
