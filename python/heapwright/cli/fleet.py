# SPDX-License-Identifier: MIT
"""heapwright fleet: sums over many recordings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from heapwright.cli import options
from heapwright.cli.arguments import one_of
from heapwright.cli.errors import InputError
from heapwright.cli.output import make_console, print_json
from heapwright.cli.streams import say
from heapwright.fleet.engines import DUCKDB, ENGINES, FleetError, damaged_files, open_tables
from heapwright.fleet.questions import QUESTIONS, incomplete
from heapwright.live.show import size
from heapwright.report import units
from heapwright.terminal.columns import Columns

SCHEMA = "heapwright.fleet/1"
Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder written by export --to parquet --fleet DIR.")
]
Ask = Annotated[
    list[str] | None,
    typer.Option(
        "--question", metavar="NAME", help=f"One of {', '.join(QUESTIONS)}. Repeatable. Default: all."
    ),
]
Top = Annotated[int, typer.Option("--top", metavar="N", min=1, help="Rows in each answer.")]
Engine = Annotated[str, typer.Option("--engine", metavar="NAME", help="duckdb or spark.")]
Master = Annotated[str, typer.Option("--master", metavar="URL", help="With --engine spark: the cluster.")]


def fleet(
    folder: Folder,
    question: Ask = None,
    top: Top = 10,
    engine: Engine = DUCKDB,
    master: Master = "local[*]",
    json: options.Json = False,
    wide: options.Wide = False,
) -> None:
    """Sum up memory, waste and leaks over many recordings."""
    one_of("engine", engine, ENGINES)
    wanted = list(dict.fromkeys(question or QUESTIONS))
    for name in wanted:
        one_of("question", name, QUESTIONS)
    try:
        opened = open_tables(folder, engine, master)
        answers = {name: QUESTIONS[name](*opened).limit(top).to_pyarrow().to_pylist() for name in wanted}
        [sums] = incomplete(*opened).to_pyarrow().to_pylist()
    except FleetError as error:
        raise InputError(str(error)) from None
    except Exception:  # the engine has many error types
        if damaged := damaged_files(folder):
            raise InputError(_about(damaged)) from None
        raise
    if sums["incomplete"]:
        say(
            f"INCOMPLETE RECORDINGS: calls are missing in {units.count(sums['incomplete'])} of "
            f"{units.count(sums['processes'])}; sums that include these are too low"
        )
    if json:
        print_json({"schema": SCHEMA, "engine": engine, "answers": answers})
        return
    console = make_console(wide)
    for number, (name, rows) in enumerate(answers.items()):
        if number:
            console.print()
        console.print(_TITLES[name], style="bold")
        if rows:
            console.print(_table(_SHOWN[name], rows))
        else:
            console.print("none")


def _about(damaged: Sequence[Path]) -> str:
    others = f" (and {units.counted(len(damaged) - 1, 'other file')})" if len(damaged) > 1 else ""
    return (
        f"{damaged[0]}{others} is damaged or holds no facts; remove it, or export it again: "
        "heapwright export FILE --to parquet --fleet DIR --force"
    )


class _Shown(NamedTuple):
    heading: str
    write: Callable[[dict[str, Any]], str]
    is_text: bool = False


def _table(columns: Sequence[_Shown], rows: Sequence[dict[str, Any]]) -> Columns:
    cells = [[column.write(row) for column in columns] for row in rows]
    texts = tuple(number for number, column in enumerate(columns) if column.is_text)
    return Columns([column.heading for column in columns], cells, text_columns=texts)


def _bytes(heading: str, key: str) -> _Shown:
    return _Shown(heading, lambda row: size(None if row[key] is None else round(row[key])))


def _text(heading: str, key: str) -> _Shown:
    return _Shown(heading, lambda row: row[key] or "unknown", True)


def _count(heading: str, key: str) -> _Shown:
    return _Shown(heading, lambda row: units.count(row[key]))


def _place(row: dict[str, Any]) -> str:
    place = Path(row["file"]).name or row["library"]
    return f"{row['function'] or 'unknown'}  {place}"


_SITE = _Shown("site", _place, True)
_GROWTH = _Shown("growth", lambda row: size(round(row["growth_bytes_per_s"] or 0)) + "/s")
_TITLES = {
    "services": "Services: sums over their processes",
    "sites": "Call sites, the fastest growing first",
    "regressions": "More at a process's peak than in the previous version",
    "savings": "What the recordings' advice would save at most",
}
_SHOWN = {
    "services": (
        _count("processes", "processes"),
        _count("incomplete", "incomplete"),
        _bytes("at peaks", "peak_bytes"),
        _bytes("rounding", "slack_bytes"),
        _bytes("free", "free_bytes"),
        _bytes("left", "left_bytes"),
        _GROWTH,
        _text("service", "service"),
        _text("version", "version"),
    ),
    "sites": (
        _count("processes", "processes"),
        _GROWTH,
        _bytes("left", "left_bytes"),
        _bytes("at peaks", "peak_bytes"),
        _text("service", "service"),
        _SITE,
    ),
    "regressions": (
        _bytes("before", "bytes_before"),
        _bytes("now", "bytes"),
        _Shown(
            "more",
            lambda row: f"{size(round(row['more_bytes']), '+')} ± {size(round(2 * row['error_bytes']))}",
        ),
        _text("service", "service"),
        _Shown("versions", lambda row: f"{row['version_before']} → {row['version']}", True),
        _SITE,
    ),
    "savings": (
        _count("processes", "processes"),
        _bytes("bytes", "gain_bytes"),
        _Shown("time", lambda row: units.duration(row["gain_ns"])),
        _text("service", "service"),
        _Shown("what", lambda row: f"{row['action']}{' (at least)' if row['is_least'] else ''}", True),
    ),
}
