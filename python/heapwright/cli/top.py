# SPDX-License-Identifier: MIT
"""heapwright top: the processes that have counters, and what they do now."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from heapwright.cli.arguments import one_of, parse_time
from heapwright.cli.errors import InputError
from heapwright.cli.options import Wide
from heapwright.cli.output import hint, make_console, print_json
from heapwright.cli.streams import say
from heapwright.live import figures, rates, show
from heapwright.live.choice import choose
from heapwright.live.document import describe_calls
from heapwright.live.page import PageError
from heapwright.live.pages import Found, find_pages
from heapwright.live.top_document import SCHEMA
from heapwright.report import units
from heapwright.terminal.columns import Columns

_LEAST_INTERVAL_NS = 10**8

Wanted = Annotated[str, typer.Argument(metavar="[PID|NAME]", help="One process; without it all of them.")]
Once = Annotated[bool, typer.Option("--once", help="Look twice, print, and end.")]
Interval = Annotated[str, typer.Option(metavar="TIME", help="Between two looks.")]
Sort = Annotated[str, typer.Option(metavar="KEY", help=f"Largest first: {', '.join(rates.SORT_KEYS)}.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout; implies --once.")]


def top(
    process: Wanted = "",
    once: Once = False,
    interval: Interval = "1s",
    sort: Sort = "calls_per_s",
    json: AsJson = False,
    wide: Wide = False,
) -> None:
    """Show what counted processes do now."""
    one_of("key", sort, rates.SORT_KEYS)
    interval_ns = parse_time("--interval", interval)
    if interval_ns < _LEAST_INTERVAL_NS:
        raise InputError("--interval takes a tenth of a second or more")
    console = make_console(wide)
    look = _Look(process, sort)
    if once or json or not sys.stdout.isatty():
        time.sleep(interval_ns / 1e9)
        document = look.again()
        if json:
            print_json(document)
            return
        console.print(_screen(document, console.width))
        _say_next(document)
        return
    with Live(console=console, screen=True, auto_refresh=False) as screen:
        while True:
            time.sleep(interval_ns / 1e9)
            screen.update(_screen(look.again(), console.width), refresh=True)


class _Look:
    """The processes, looked at again and again."""

    def __init__(self, process: str, sort: str) -> None:
        self._sort = sort
        self._process = 0
        if process:
            try:
                self._process = choose(process).process
            except PageError as error:
                raise InputError(str(error)) from None
        self._last = rates.take(self._find().pages)

    def _find(self) -> Found:
        found = find_pages()
        if not self._process:
            return found
        pages = [page for page in found.pages if page.process == self._process]
        if not pages:
            raise InputError(f"process {self._process} has ended")
        return Found(pages, [])

    def again(self) -> dict[str, Any]:
        """What happened since the last look."""
        found = self._find()
        now = rates.take(found.pages)
        backwards = rates.running_backwards(self._last, now)
        document: dict[str, Any] = {
            "schema": SCHEMA,
            "interval_ns": now.time_ns - self._last.time_ns,
            "processes": rates.rows(self._last, now, self._sort),
            "problems": found.problems
            + [f"process {one}: its counters run backwards, so no rates" for one in backwards]
            + [
                f"process {one}: its heap's sums are half written, so not told"
                for one in rates.unsettled(now)
            ],
        }
        calls = now.calls.get(self._process)
        if calls:
            difference = rates.lately(self._process, self._last, now)
            lately = calls if difference is None or self._process in backwards else difference
            document["process"] = describe_calls(calls)
            document["lately"] = {"calls": lately.by_function, "sizes": figures.size_rows(lately.sizes)}
        self._last = now
        return document


def _screen(document: dict[str, Any], width: int) -> RenderableType:
    rows = document["processes"]
    is_heap = any(row["contended_per_s"] is not None for row in rows)
    shown = [
        column for column in _COLUMNS if width >= column.from_width and (is_heap or not column.is_of_heap)
    ]
    parts: list[RenderableType] = []
    if rows:
        cells = [[column.write(row[column.key]) for column in shown] for row in rows]
        parts.append(Columns([column.heading for column in shown], cells, text_columns=(len(shown) - 1,)))
    else:
        parts.append(Text("no process has counters; heapwright count -- PROGRAM starts one that has"))
    parts += [Text(problem) for problem in document["problems"]]
    if "process" in document:
        parts += [Text(), show.process_lines(document["process"], document["lately"])]
    return Group(*parts)


class _Column(NamedTuple):
    heading: str
    key: str
    write: Callable[[Any], str]
    from_width: int = 0  # a narrower terminal does without
    is_of_heap: bool = False  # said by our own heap alone


def _unit(unit: str) -> Callable[[Any], str]:
    return lambda value: units.number(value, unit)


def _rate(value: float | None) -> str:
    return "–" if value is None else units.rate(value)


_COLUMNS = (
    _Column("pid", "process", str),
    _Column("calls", "calls_per_s", _unit("per_s")),
    _Column("requested", "requested_bytes_per_s", _rate, 80),
    _Column("live", "live_bytes", show.size),
    _Column("blocks", "live_blocks", _unit("count"), 100),
    _Column("resident", "resident_bytes", units.size),
    _Column("res/live", "overhead", _unit("ratio"), 80),
    _Column("mean", "mean_ns", _unit("ns")),
    _Column("p99", "p99_ns", _unit("ns"), 100),
    _Column("threads", "threads", str, 100),
    _Column("contended", "contended_per_s", _unit("per_s"), 100, is_of_heap=True),
    _Column("remote", "remote_frees_per_s", _unit("per_s"), 100, is_of_heap=True),
    _Column("program", "program", str),
)


def _say_next(document: dict[str, Any]) -> None:
    processes: Sequence[dict[str, Any]] = document["processes"]
    if processes and "process" not in document:
        hint(f"heapwright top {processes[0]['process']}")
    elif processes:
        say("next: heapwright record tells which call sites these are of")
