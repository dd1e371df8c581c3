# SPDX-License-Identifier: MIT
"""heapwright sql: queries a trace in DuckDB's SQL."""

from __future__ import annotations

import csv as csv_format
import difflib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heapwright.cli import options
from heapwright.cli.arguments import open_trace
from heapwright.cli.errors import InputError
from heapwright.cli.output import hint, make_console, print_json
from heapwright.cli.progress import progress
from heapwright.cli.streams import say
from heapwright.model import Trace, extras
from heapwright.model.tables import TABLES, about_samples, columns_left_out
from heapwright.model.wholeness import in_words
from heapwright.terminal.columns import Columns

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from rich.console import Console

Query = Annotated[str, typer.Argument(metavar="QUERY", help=f"SQL over {', '.join(TABLES)}.")]
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
_SHOWN_ROWS = 200
_QUOTED = re.compile(r'"([^"]+)"')


def sql(
    file: options.File,
    query: Query,
    csv: Csv = False,
    json: options.Json = False,
    wide: options.Wide = False,
    debug_root: options.DebugRoot = None,
) -> None:
    """Query a trace with SQL.

    Tables: event, block, site, stack, frame, thread, memory, module; of snapshots: node, edge, root.
    """
    if csv and json:
        raise InputError("--csv and --json are mutually exclusive")
    extras.duckdb()
    trace = open_trace(file, debug_root)
    text = _as_text(query)
    mentioned = tables_in(text)
    # Damage in chunks of calls shows only when they are read, which the query's thread does.
    reading = trace.begin_plain_facts() if mentioned else None
    result = run_query(trace, text)
    columns = [column[0] for column in result.description or []]
    lost = trace.lost_calls(reading.take()) if reading else ()
    if lost:
        say(in_words(lost))
    sampled = about_samples(trace, mentioned)
    if sampled and not json:
        say(sampled)
    if json:
        rows = [list(row) for row in _rows(result)]
        document = {"schema": "heapwright.sql/1", "columns": columns, "rows": rows}
        known = {"incomplete": list(lost), "sampled": sampled}
        print_json(document | {name: value for name, value in known.items() if value})
    elif csv:
        rows_left = _rows(result)
        first = list(islice(rows_left, 1))  # a query that fails immediately prints no header
        writer = csv_format.writer(sys.stdout, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(chain(first, rows_left))
    else:
        _print_table(columns, result, make_console(wide))
        hint(f"heapwright sql {file} 'describe event'")


def _as_text(query: str) -> str:
    """In a locale other than UTF-8, arguments contain undecoded bytes."""
    try:
        return os.fsencode(query).decode()
    except UnicodeError:
        raise InputError("the query is not UTF-8") from None


def run_query(trace: Trace, query: str) -> DuckDBPyConnection:
    """Runs the query over the tables it names."""
    duckdb = extras.duckdb()
    connection = duckdb.connect()
    connection.execute("set enable_progress_bar = false")
    mentioned = tables_in(query)
    if mentioned:
        with progress("reading symbols") as report:
            trace.symbols(report)
    for name in mentioned:
        connection.register(name, trace.table(name))
    try:
        result = _execute(connection, query)
    except duckdb.Error as error:
        raise InputError(explain_error(str(error), query, trace, mentioned)) from None
    if result is None:
        raise InputError("the query is empty; try: select * from event limit 5")
    return result


def _execute(connection: DuckDBPyConnection, query: str) -> DuckDBPyConnection | None:
    # In a separate thread: inside DuckDB the main thread would not notice Ctrl-C.
    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(connection.execute, query)
        try:
            return result.result()
        except KeyboardInterrupt:
            connection.interrupt()
            raise


def tables_in(query: str) -> list[str]:
    """The trace's tables that the query names."""
    duckdb = extras.duckdb()
    error = duckdb.Error
    try:
        names = {name.lower() for name in duckdb.connect().get_table_names(query)}
        return [name for name in TABLES if name in names]
    except error:  # not a select (describe, copy), or not SQL
        return [name for name in TABLES if re.search(rf"\b{name}\b", query, re.IGNORECASE)]


def explain_error(message: str, query: str, trace: Trace, mentioned: Sequence[str]) -> str:
    """DuckDB's message on one line, with the nearest name for a typing error."""
    first = message.splitlines()[0]
    quoted = _QUOTED.search(first)
    if "does not have a column named" in first or "Referenced column" in first:
        name = quoted[1] if quoted else "?"
        if "does not have a column named" in first and len(_QUOTED.findall(first)) > 1:
            name = _QUOTED.findall(first)[1]
        if "site" in mentioned and name in columns_left_out(trace):
            return f"this recording has no {name}: it is sampled, or has no times"
        known = _columns(trace, mentioned)
        return f"unknown column {name}; {_nearest(name, known)}"
    missing = re.search(r"Table with name (\S+) does not exist", first)
    if missing:
        return f"unknown table {missing[1]}; {_nearest(missing[1], list(TABLES))}"
    return first.removeprefix("Parser Error: ").removeprefix("Binder Error: ")


def _columns(trace: Trace, tables: Iterable[str]) -> list[str]:
    connection = extras.duckdb().connect()
    found: list[str] = []
    for name in tables:
        connection.register(name, trace.table(name))
        found += [row[0] for row in connection.execute(f"describe {name}").fetchall()]
    return list(dict.fromkeys(found))


def _nearest(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name.lower(), known, 1)
    return f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"


def _rows(result: DuckDBPyConnection) -> Iterator[Sequence[Any]]:
    while chunk := _fetch(result, 10_000):
        yield from chunk


def _fetch(result: DuckDBPyConnection, count: int) -> list[Any]:
    """DuckDB computes while rows are fetched, and may fail only then."""
    try:
        return result.fetchmany(count)
    except extras.duckdb().Error as error:
        raise InputError(str(error).splitlines()[0]) from None


def _print_table(columns: Sequence[str], result: DuckDBPyConnection, console: Console) -> None:
    rows = _fetch(result, _SHOWN_ROWS + 1)
    numbers = {
        i for i in range(len(columns)) if rows and all(isinstance(row[i], int | float) for row in rows)
    }
    shown = [["" if value is None else str(value) for value in row] for row in rows[:_SHOWN_ROWS]]
    text_columns = [i for i in range(len(columns)) if i not in numbers]
    console.print(Columns(columns, shown, text_columns=text_columns))
    if len(rows) > _SHOWN_ROWS:
        console.print(f"first {_SHOWN_ROWS} rows; --csv and --json print all rows")
