# SPDX-License-Identifier: MIT
"""The columns of top: what is told of each process, as far as the terminal has room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from rich.console import Group, RenderableType
from rich.text import Text

from heapwright.live import show
from heapwright.live.outside import outside_lines
from heapwright.report import units
from heapwright.terminal.columns import Columns

NOTHING_COUNTS = "no process has counters; heapwright count -- PROGRAM starts one with counters"


class Shown(NamedTuple):
    """One column: its heading, the field of the row, how it is written."""

    heading: str
    key: str
    write: Callable[[Any], str]
    from_width: int = 0  # a narrower terminal does without
    is_of_heap: bool = False  # said by our own heap alone


def _unit(unit: str) -> Callable[[Any], str]:
    return lambda value: units.number(value, unit)


def _rate(value: float | None) -> str:
    return "–" if value is None else units.rate(value)


def growth(bytes_per_s: float | None) -> str:
    """With its sign."""
    return "–" if bytes_per_s is None else ("+" if bytes_per_s > 0 else "") + units.rate(bytes_per_s)


def lost(ns_per_s: float | None) -> str:
    """Time lost to locks, as a share of one processor's."""
    return "–" if ns_per_s is None else units.percent(ns_per_s, 1e9)


_COLUMNS = (
    Shown("pid", "process", str),
    Shown("calls", "calls_per_s", _unit("per_s")),
    Shown("requested", "requested_bytes_per_s", _rate, 110),
    Shown("live", "live_bytes", show.size),
    Shown("blocks", "live_blocks", _unit("count"), 130),
    Shown("resident", "resident_bytes", units.size),
    Shown("growth", "growth_bytes_per_s", growth),
    Shown("anon", "anonymous_bytes", _unit("bytes"), 110),
    Shown("anon/live", "anonymous_overhead", _unit("ratio"), 110),
    Shown("res/live", "overhead", _unit("ratio"), 150),
    Shown("mean", "mean_ns", _unit("ns")),
    Shown("p99", "p99_ns", _unit("ns"), 100),
    Shown("threads", "threads", str, 120),
    Shown("collisions", "collisions_per_s", _unit("per_s"), 100),
    Shown("lost", "lost_ns_per_s", lost, 80),
    Shown("remote", "remote_frees_per_s", _unit("per_s"), 130, is_of_heap=True),
    Shown("program", "program", str),
)


def heading_of(key: str) -> str:
    """What the column of a row's field is called."""
    return next(column.heading for column in _COLUMNS if column.key == key)


def key_of(heading: str) -> str:
    """The field of a row that is shown under this heading; what is none is taken for a field."""
    return next((column.key for column in _COLUMNS if column.heading == heading), heading)


def columns_for(rows: Sequence[dict[str, Any]], width: int) -> list[Shown]:
    """Those of a terminal of this width."""
    is_heap = any(row["remote_frees_per_s"] is not None for row in rows)
    return [one for one in _COLUMNS if width >= one.from_width and (is_heap or not one.is_of_heap)]


def plain_screen(document: dict[str, Any], width: int) -> RenderableType:
    """A look as it is printed."""
    rows = document["processes"]
    shown = columns_for(rows, width)
    parts: list[RenderableType] = []
    if rows:
        cells = [[column.write(row[column.key]) for column in shown] for row in rows]
        parts.append(Columns([column.heading for column in shown], cells, text_columns=(len(shown) - 1,)))
    else:
        parts.append(Text(NOTHING_COUNTS))
    parts += [Text(line) for line in (*outside_lines(rows), *document["problems"])]
    if "process" in document:
        parts += [Text(), show.process_lines(document["process"], document["lately"])]
    if "growing" in document:
        parts += [Text(), show.growing_lines(document["growing"])]
    if "remedies" in document:
        parts += [Text(), show.remedy_lines(document["remedies"])]
    return Group(*parts)
