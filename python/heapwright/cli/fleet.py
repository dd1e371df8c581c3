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
from heapwright.fleet.engines import DUCKDB, ENGINES, FleetError, Opened, answer
from heapwright.fleet.questions import PER_SERVICE, QUESTIONS, first_rows, incomplete, of_service
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
Service = Annotated[
    str, typer.Option("--service", metavar="NAME", help="Of this service alone. Default: of all.")
]
Top = Annotated[
    int, typer.Option("--top", metavar="N", min=1, help="Rows in each answer; of trend: of each service.")
]
Engine = Annotated[str, typer.Option("--engine", metavar="NAME", help="duckdb or spark.")]
Master = Annotated[str, typer.Option("--master", metavar="URL", help="With --engine spark: the cluster.")]


def fleet(
    folder: Folder,
    question: Ask = None,
    service: Service = "",
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

    def ask(opened: Opened) -> tuple[dict[str, list[dict[str, Any]]], dict[str, Any]]:
        of = of_service(opened, service)
        [sums] = incomplete(*of).to_pyarrow().to_pylist()
        return {name: first_rows(name, of, top) for name in wanted}, sums

    try:
        answers, sums = answer(folder, engine, master, ask)
    except FleetError as error:
        raise InputError(str(error)) from None
    if service and not sums["processes"]:
        raise InputError(f"{folder} has no processes of the service {service}")
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
            console.print(_table(_SHOWN[name], rows, name in PER_SERVICE))
        else:
            console.print("none")


class _Shown(NamedTuple):
    heading: str
    write: Callable[[dict[str, Any]], str]
    is_text: bool = False


def _table(columns: Sequence[_Shown], rows: Sequence[dict[str, Any]], is_by_service: bool) -> Columns:
    cells = [[column.write(row) for column in columns] for row in rows]
    texts = tuple(number for number, column in enumerate(columns) if column.is_text)
    groups: dict[int, str] = {}
    for number, row in enumerate(rows if is_by_service else ()):
        if number == 0 or rows[number - 1]["service"] != row["service"]:
            groups[number] = row["service"]
    return Columns([column.heading for column in columns], cells, text_columns=texts, groups=groups)


def _bytes(heading: str, key: str) -> _Shown:
    return _Shown(heading, lambda row: size(None if row[key] is None else round(row[key])))


def _text(heading: str, key: str) -> _Shown:
    return _Shown(heading, lambda row: row[key] or "unknown", True)


def _count(heading: str, key: str) -> _Shown:
    return _Shown(heading, lambda row: units.count(row[key]))


def _place(row: dict[str, Any]) -> str:
    place = Path(row["file"]).name or row["library"]
    return f"{row['function'] or 'unknown'}  {place}"


def _signed(value: float, unit: str = "") -> str:
    return size(round(value), "+") + unit


def _rate(heading: str, key: str) -> _Shown:
    return _Shown(heading, lambda row: "" if row[key] is None else size(round(row[key])) + "/s")


def _unit(row: dict[str, Any]) -> str:
    return "/s" if row["figure"] == "growth" else ""


def _who(row: dict[str, Any]) -> str:
    if row["is_whole_host"]:
        return "all"
    return f"{units.count(row['processes_apart'])} of {units.count(row['processes'])}"


def _if_any(row: dict[str, Any], part: str) -> str:
    return size(row[f"{part}_bytes"]) if row[f"{part}_processes"] else "–"


def _differing(row: dict[str, Any]) -> str:
    if row["site_more"] is None:
        return ""
    return f"{_signed(row['site_more'], _unit(row))} {_place(row)}"


_SITE = _Shown("site", _place, True)
_FIGURES = {"peak": "at peak", "growth": "growth", "free": "free resident"}
_GROWTH = _Shown("growth", lambda row: size(round(row["growth_bytes_per_s"] or 0)) + "/s")
_TITLES = {
    "services": "Services: sums over their processes",
    "sites": "Call sites, the fastest growing first",
    "trend": "By day and version: median and 95th percentile over the processes",
    "outliers": "Hosts and processes that stand apart from others of their service and version",
    "regressions": "More at a process's peak than in the previous version",
    "savings": "What the recordings' advice would save at most",
    "remedies": "What each remedy returns in sum: measured by replay, and bounds that none has judged",
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
    "trend": (
        _text("day", "date"),
        _text("version", "version"),
        _count("processes", "processes"),
        _bytes("at peak", "median_peak_bytes"),
        _bytes("95 %", "p95_peak_bytes"),
        _rate("growth", "median_growth_bytes_per_s"),
        _rate("95 %", "p95_growth_bytes_per_s"),
        _bytes("rounding", "median_slack_bytes"),
        _bytes("95 %", "p95_slack_bytes"),
        _bytes("free", "median_free_bytes"),
        _bytes("95 %", "p95_free_bytes"),
    ),
    "outliers": (
        _text("host", "host"),
        _Shown("processes", _who),
        _Shown("what", lambda row: _FIGURES[row["figure"]], True),
        _Shown("has", lambda row: size(round(row["value"])) + _unit(row)),
        _Shown(
            "others", lambda row: f"{size(round(row['usual']))}{_unit(row)} ± {size(round(row['deviation']))}"
        ),
        _Shown("service", lambda row: f"{row['service']} {row['version']}", True),
        _Shown("site that differs most", _differing, True),
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
    "remedies": (
        _Shown("returned", lambda row: _if_any(row, "measured")),
        _Shown("time", lambda row: units.duration(row["measured_ns"]) if row["measured_ns"] else ""),
        _count("measured in", "measured_processes"),
        _count("refuted in", "refuted_processes"),
        _Shown("not judged, at most", lambda row: _if_any(row, "bound")),
        _count("in", "bound_processes"),
        _text("service", "service"),
        _Shown("remedy", lambda row: row["what"], True),
    ),
}
