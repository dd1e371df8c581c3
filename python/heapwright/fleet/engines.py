# SPDX-License-Identifier: MIT
"""The engines that answer the questions: DuckDB in this process, or Spark."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from heapwright.fleet.facts import COLUMNS
from heapwright.model import extras

DUCKDB, SPARK = "duckdb", "spark"
ENGINES = (DUCKDB, SPARK)
_FILES = "service=*/version=*/date=*/*.parquet"


class FleetError(Exception):
    """Why a folder cannot be used, in one line."""


Read = Callable[[str], Any]


class Tables(dict[str, Any]):
    """The tables of a folder, read on first use."""

    def __init__(self, read: Read) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, name: str) -> Any:
        self[name] = self._read(name)
        return self[name]


class Opened(NamedTuple):
    """The tables of a folder, and the module ibis, used by the questions."""

    ibis: Any
    tables: Tables


def open_tables(folder: Path, engine: str, master: str) -> Opened:
    """Raises FleetError if the folder has none."""
    missing = [table for table in COLUMNS if not any((folder / table).glob(_FILES))]
    if len(missing) == len(COLUMNS):
        raise FleetError(
            f"{folder} holds no facts; create some: heapwright export FILE --to parquet --fleet {folder}"
        )
    if missing:
        raise FleetError(
            f"{folder} has no files of the table {missing[0]}; "
            "export its recordings again: heapwright export FILE --to parquet --fleet DIR --force"
        )
    connect = _spark if engine == SPARK else _duckdb
    return connect(folder, master)


def damaged_files(folder: Path) -> list[Path]:
    """Files that are incomplete or not of their table. Reads only header and footer if that is enough."""
    files = [(table, path) for table in COLUMNS for path in sorted((folder / table).glob(_FILES))]
    found = [path for table, path in files if not _is_whole(table, path, reads_rows=False)]
    return found or [path for table, path in files if not _is_whole(table, path, reads_rows=True)]


def _is_whole(table: str, path: Path, reads_rows: bool) -> bool:
    arrow, parquet = extras.pyarrow()
    try:
        with parquet.ParquetFile(path) as file:
            if reads_rows:
                file.read()
            return set(COLUMNS[table]) <= set(file.schema_arrow.names)
    except (arrow.ArrowException, OSError):
        return False


def _duckdb(folder: Path, _: str) -> Opened:
    ibis = extras.ibis("duckdb")
    connection = ibis.duckdb.connect()
    connection.raw_sql("set enable_progress_bar = false")
    connection.raw_sql("set enable_object_cache = true")  # for files read twice
    # Version 1.10 is not a number.
    options = {"hive_partitioning": True, "hive_types_autocast": False}
    return Opened(
        ibis,
        Tables(lambda name: connection.read_parquet(folder / name / _FILES, table_name=name, **options)),
    )


def _spark(folder: Path, master: str) -> Opened:
    ibis = extras.ibis("pyspark")
    SparkSession = import_module("pyspark.sql").SparkSession  # noqa: N806
    builder = SparkSession.builder.master(master).appName("heapwright fleet")
    settings = {
        "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    connection = ibis.pyspark.connect(session)
    return Opened(ibis, Tables(lambda name: connection.read_parquet(str(folder / name), table_name=name)))
