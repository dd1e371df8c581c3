# SPDX-License-Identifier: MIT
"""The program's annotations (heapwright/annotate.h): marks with their names, and SQL over them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from heapwright.model import extras
from heapwright.model.trace import KIND_NAMES, Trace
from heapwright.report.columns import Column

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from heapwright.model import Facts

_TEXT = "annotation_text"
_NAMED = ("phase_begin", "phase_end", "pool_create", "pool_destroy", "region_named", _TEXT)

_MARKS = f"""
select thread, begin_ns, kind, address, size, usable from event
where kind in {_NAMED!r} order by thread, sequence
"""


class Mark:
    """A phase's begin or end, a pool's creation or destruction, or a named region."""

    def __init__(self, thread: int, begin_ns: int, kind: str, address: int = 0, size: int = 0) -> None:
        self.thread = thread
        self.begin_ns = begin_ns
        self.kind = kind
        self.address = address
        self.size = size
        self.spelling = b""

    @property
    def name(self) -> str:
        return self.spelling.split(b"\0")[0].decode("utf-8", "replace")


def marks_of(rows: Iterable[tuple[int, int, str, int, int, int]]) -> list[Mark]:
    """Marks from (thread, begin_ns, kind, address, size, usable), in order within each thread.

    A name follows its mark in pieces of 16 bytes, stored in size and usable.
    """
    marks: list[Mark] = []
    for thread, begin_ns, kind, address, size, usable in rows:
        if kind != _TEXT:
            marks.append(Mark(thread, begin_ns, kind, address, size))
        elif marks and marks[-1].thread == thread:
            marks[-1].spelling += size.to_bytes(8, "little") + usable.to_bytes(8, "little")
    return marks


def has_any(facts: Facts, *kinds: str) -> bool:
    """Whether the trace holds one of these kinds of event; cheap."""
    return any(KIND_NAMES[row.kind] in kinds for row in facts.by_kind)


def named(what: str) -> Column:
    """The column for a name given by the program."""
    return Column("name", "text", what, text=lambda row, _: row["name"] or "(no name)")


class Annotations:
    """SQL over a trace's events. Each query reads the whole trace once."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._connection: DuckDBPyConnection = extras.duckdb().connect()
        self._connection.execute("set enable_progress_bar = false")
        # A stream's size is unknown in advance: guessed to be small, a join would keep it in memory.
        self._connection.execute("set disabled_optimizers = 'join_order,build_side_probe_side'")

    def ask(self, query: str, table: str = "event") -> list[Any]:
        """table: the trace's table that the query reads."""
        self._connection.register(table, self._trace.table(table))  # a stream can be read only once
        return self._connection.execute(query).fetchall()

    def marks(self) -> list[Mark]:
        return marks_of(self.ask(_MARKS))

    def add_column(self, table: str, column: str, numbers: Sequence[int]) -> None:
        """Creates a table of one column in one step, as inserting row by row is slow."""
        self._connection.execute(
            f"create table {table} as select unnest(?::ubigint[]) as {column}", [list(numbers)]
        )

    def add_table(self, name: str, columns: Mapping[str, str], rows: Sequence[tuple[int, ...]]) -> None:
        """Creates a table in one step. columns: types by name."""
        values = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in columns]
        selected = ", ".join(f"unnest(?::{kind}[]) as {column}" for column, kind in columns.items())
        self._connection.execute(f"create table {name} as select {selected}", values)
