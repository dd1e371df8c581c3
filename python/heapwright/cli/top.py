# SPDX-License-Identifier: MIT
"""heapwright top: processes with counters, and what they are doing now."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.live import Live

from heapwright.cli.arguments import one_of
from heapwright.cli.errors import InputError
from heapwright.cli.options import TIME, Wide
from heapwright.cli.output import hint, make_console, print_json
from heapwright.cli.streams import say
from heapwright.live import rates
from heapwright.live.looker import Looker
from heapwright.live.page import PageError
from heapwright.live.table import heading_of, key_of, plain_screen
from heapwright.model.extras import MissingPackageError, textual
from heapwright.terminal import spelling

_LEAST_INTERVAL_NS = 10**8

Wanted = Annotated[str, typer.Argument(metavar="[PID|NAME]", help="One process. Default: all.")]
Once = Annotated[bool, typer.Option("--once", help="Print one interval and exit.")]
Interval = Annotated[
    int, typer.Option(metavar="TIME", click_type=TIME, show_default="1s", help="Time between updates.")
]
_HEADINGS = [heading_of(key) for key in rates.SORT_KEYS]
Sort = Annotated[
    str, typer.Option(metavar="NAME", help=f"Largest first: {', '.join(_HEADINGS)}; or a key of the JSON.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout; implies --once.")]


def top(
    process: Wanted = "",
    once: Once = False,
    interval: Interval = 10**9,
    sort: Sort = "calls",
    json: AsJson = False,
    wide: Wide = False,
) -> None:
    """Show what counted processes are doing now."""
    key = key_of(sort)
    if key not in rates.SORT_KEYS:
        one_of("column", sort, _HEADINGS)
    if interval < _LEAST_INTERVAL_NS:
        raise InputError("--interval takes at least 0.1s")
    try:
        looker = Looker(process, key)
        if once or json or not sys.stdout.isatty():
            _print_once(looker, interval / 1e9, json, wide)
        else:
            _go_on(looker, interval / 1e9, wide)
    except PageError as error:
        raise InputError(str(error)) from None


def _print_once(looker: Looker, interval_s: float, as_json: bool, wide: bool) -> None:
    time.sleep(interval_s)
    document = looker.again()
    if as_json:
        print_json(document)
        return
    console = make_console(wide)
    console.print(plain_screen(document, console.width))
    _say_next(document)


def _go_on(looker: Looker, interval_s: float, wide: bool) -> None:
    if not (sys.stdin.isatty() and spelling.shows_unicode(sys.stdout) and _has_textual()):
        console = make_console(wide)
        with Live(console=console, screen=True, auto_refresh=False) as screen:
            while True:
                time.sleep(interval_s)
                screen.update(plain_screen(looker.again(), console.width), refresh=True)
    from heapwright.live.board import Board  # an extra

    board = Board(looker, interval_s)
    board.run()
    if board.ended_by:
        raise PageError(board.ended_by)


def _has_textual() -> bool:
    try:
        textual()
    except MissingPackageError:
        return False
    return True


def _say_next(document: dict[str, Any]) -> None:
    processes: Sequence[dict[str, Any]] = document["processes"]
    if processes and "process" not in document:
        hint(f"heapwright top {processes[0]['process']}")
    elif "growing" in document:
        hint(f"heapwright dump {processes[0]['process']}")
    elif processes:
        say("next: heapwright record shows which call sites make these calls")
