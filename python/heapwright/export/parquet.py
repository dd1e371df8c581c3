# SPDX-License-Identifier: MIT
"""Parquet files, written by DuckDB batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from heapwright.model import NO_LIMIT, Filter, Trace, extras

# Tables with a row per call or block, which filters apply to.
FILTERED_TABLES = ("event", "block")


def write_table(trace: Trace, table: str, path: Path, chosen: Filter, warning: str = "") -> None:
    """Writes the selected rows of one table of the trace to a file; OSError if it cannot be written.

    chosen: by a row's begin time; all rows, unless the table is in FILTERED_TABLES.
    warning: stored as the file's metadata heapwright.incomplete.
    """
    duckdb = extras.duckdb()
    connection = duckdb.connect()
    connection.execute("set enable_progress_bar = false")
    connection.register("source", trace.table(table))
    quoted = _quoted(str(path))
    known = f", kv_metadata {{'heapwright.incomplete': {_quoted(warning)}}}" if warning else ""
    rows = f"select * from source where {_condition(trace, chosen)}"
    try:
        connection.execute(f"copy ({rows}) to {quoted} (format parquet, compression zstd{known})")
    except duckdb.IOException as error:
        raise OSError(str(error).splitlines()[0]) from None


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _condition(trace: Trace, chosen: Filter) -> str:
    parts = []
    if chosen.from_ns > 0:
        parts.append(f"begin_ns >= {chosen.from_ns}")
    if chosen.to_ns < NO_LIMIT:
        parts.append(f"begin_ns < {chosen.to_ns}")
    if chosen.threads:
        parts.append(_is_one_of("thread", chosen.threads))
    if chosen.contexts:
        stacks = trace.stacks_chosen(Filter(contexts=chosen.contexts))
        parts.append(_is_one_of("stack", [stack for stack, wanted in enumerate(stacks) if wanted]))
    is_chosen = trace.sites_chosen(chosen, None)
    if is_chosen:
        parts.append(_is_one_of("site", [site for site, wanted in enumerate(is_chosen) if wanted]))
    return " and ".join(parts) or "true"


def _is_one_of(column: str, numbers: Sequence[int]) -> str:
    return f"{column} in ({', '.join(map(str, numbers))})" if numbers else "false"
