# SPDX-License-Identifier: MIT
"""Parquet files, written by DuckDB batch by batch."""

from __future__ import annotations

from pathlib import Path

import duckdb

from heapwright.model import Trace


def write_table(trace: Trace, table: str, path: Path) -> None:
    """One table of the trace into one file; OSError when it cannot be written."""
    connection = duckdb.connect()
    connection.execute("set enable_progress_bar = false")
    connection.register("source", trace.table(table))
    quoted = str(path).replace("'", "''")
    try:
        connection.execute(f"copy source to '{quoted}' (format parquet, compression zstd)")
    except duckdb.IOException as error:
        raise OSError(str(error).splitlines()[0]) from None
