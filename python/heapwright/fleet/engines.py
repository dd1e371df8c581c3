# SPDX-License-Identifier: MIT
"""The engines that answer the questions: DuckDB in this process, or Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from heapwright.fleet.grouping import prepared
from heapwright.fleet.merged import Copies, remove_copies
from heapwright.fleet.tables import ADDED, COLUMNS, FILES, PARTS, arrow_schema
from heapwright.model import extras

DUCKDB, SPARK = "duckdb", "spark"
ENGINES = (DUCKDB, SPARK)


class FleetError(Exception):
    """Why a folder cannot be used, in one line."""


Read = Callable[[str], Any]
Answer = TypeVar("Answer")


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


def answer(folder: Path, engine: str, master: str, ask: Callable[[Opened], Answer]) -> Answer:
    """What ask says of the folder's tables. FleetError: it has none, or a file is damaged."""
    try:
        with open_tables(folder, engine, master) as opened:
            return ask(opened)
    except (FleetError, extras.MissingPackageError):
        raise
    except Exception:  # the engine has many error types
        if damaged := damaged_files(folder):
            raise FleetError(_about(damaged)) from None
        if engine != DUCKDB or not remove_copies(folder):
            raise
    with open_tables(folder, engine, master) as opened:
        return ask(opened)


@contextmanager
def open_tables(folder: Path, engine: str, master: str) -> Iterator[Opened]:
    """Raises FleetError if the folder has none. The tables can be read within the with statement."""
    missing = [table for table in COLUMNS if not any((folder / table).glob(FILES))]
    if len(missing) == len(COLUMNS):
        raise FleetError(
            f"{folder} holds no facts; create some: heapwright export FILE --to parquet --fleet {folder}"
        )
    if needed := [table for table in missing if table not in ADDED]:
        raise FleetError(
            f"{folder} has no files of the table {needed[0]}; "
            "export its recordings again: heapwright export FILE --to parquet --fleet DIR --force"
        )
    connect = _spark if engine == SPARK else _duckdb
    with connect(folder, master) as (ibis, read):
        yield Opened(ibis, Tables(lambda name: _without_rows(ibis, name) if name in missing else read(name)))


def _without_rows(ibis: Any, table: str) -> Any:
    """A table that older versions did not write."""
    return ibis.memtable(_whole_schema(table).empty_table())


def _whole_schema(table: str) -> Any:
    """With the columns that are in the paths."""
    arrow, _ = extras.pyarrow()
    schema = arrow_schema(table)
    for name in PARTS:
        schema = schema.append(arrow.field(name, arrow.string()))
    return schema


def damaged_files(folder: Path) -> list[Path]:
    """Files that are incomplete or not of their table. Reads only header and footer if that is enough."""
    files = [(table, path) for table in COLUMNS for path in sorted((folder / table).glob(FILES))]
    found = [path for table, path in files if not _is_whole(table, path, reads_rows=False)]
    return found or [path for table, path in files if not _is_whole(table, path, reads_rows=True)]


def _about(damaged: Sequence[Path]) -> str:
    others = f" (and {len(damaged) - 1:,} other{'s' if len(damaged) > 2 else ''})" if len(damaged) > 1 else ""
    return (
        f"{damaged[0]}{others} is damaged or holds no facts; remove it, or export it again: "
        "heapwright export FILE --to parquet --fleet DIR --force"
    )


def _is_whole(table: str, path: Path, reads_rows: bool) -> bool:
    arrow, parquet = extras.pyarrow()
    try:
        with parquet.ParquetFile(path) as file:
            if reads_rows:
                file.read()
            return set(COLUMNS[table]) <= set(file.schema_arrow.names)
    except (arrow.ArrowException, OSError):
        return False


@contextmanager
def _duckdb(folder: Path, _: str) -> Iterator[tuple[Any, Read]]:
    ibis, duckdb = extras.ibis("duckdb"), extras.duckdb()
    connection = ibis.duckdb.connect()
    connection.raw_sql("set enable_progress_bar = false")
    connection.raw_sql("set enable_object_cache = true")  # for files read twice

    numbers = count()

    def rows_of(table: str, files: Sequence[Path]) -> str:
        """Names a view of the files' rows, and selects from it what the questions read."""
        view = f"files_{next(numbers)}"
        connection.raw_sql(f"create temp view {view} as {_select(table, files)}")
        schema = ibis.Schema.from_pyarrow(_whole_schema(table))
        expression = prepared(table, ibis.table(schema, name=view))
        # A sum of whole numbers is wider than these.
        columns = [
            f"{name}::bigint as {name}" if kind.is_integer() else name
            for name, kind in expression.schema().items()
        ]
        return f"select {', '.join(columns)} from ({ibis.to_sql(expression, 'duckdb')})"

    def make(table: str, files: Sequence[Path], copy: Path) -> None:
        try:
            rows = rows_of(table, files)
            connection.raw_sql(f"copy ({rows}) to {_quoted(copy)} (format parquet, compression zstd)")
        except duckdb.Error as error:  # the files cannot be read, or the copy not be written
            raise OSError(str(error)) from None

    def read(table: str) -> Any:
        joined, files = copies.of(table)
        parts = []
        if joined:
            parts.append(f"select * from read_parquet([{', '.join(map(_quoted, joined))}])")
        if files:
            parts.append(rows_of(table, files if joined else [folder / table / FILES]))
        connection.raw_sql(
            f"create view {table} as {' union all by name '.join(f'({part})' for part in parts)}"
        )
        return connection.table(table)

    with Copies(folder, make) as copies:
        yield ibis, read


def _select(table: str, files: Sequence[Path]) -> str:
    columns, names = ", ".join((*COLUMNS[table], *PARTS)), ", ".join(map(_quoted, files))
    # Version 1.10 is not a number.
    options = "hive_partitioning = true, hive_types_autocast = false"
    return f"select {columns} from read_parquet([{names}], {options})"


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


@contextmanager
def _spark(folder: Path, master: str) -> Iterator[tuple[Any, Read]]:
    ibis = extras.ibis("pyspark")
    SparkSession = import_module("pyspark.sql").SparkSession  # noqa: N806
    builder = SparkSession.builder.master(master).appName("heapwright fleet")
    settings = {
        "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
    }
    if master.startswith("local"):
        settings["spark.sql.shuffle.partitions"] = "8"  # not 200: nobody shares the work
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    connection = ibis.pyspark.connect(session)
    yield ibis, lambda name: prepared(name, connection.read_parquet(str(folder / name), table_name=name))
