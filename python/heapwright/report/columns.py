# SPDX-License-Identifier: MIT
"""What a report is made of: figures, and tables of columns, each with its name, unit and heading.

One Column is all that JSON, its schema and the terminal know of a figure.
"""

# Annotations are values here: compiling them from text for each NamedTuple field takes half the import time.

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from heapwright.report import units

Record = dict[str, Any]
Row = Any

OPEN = "open"  # Column.sampled: a sampled trace cannot tell
TEXT, WORD, BAR, ASIDE = "text", "word", "bar", "aside"
_TO_THE_LEFT = (TEXT, WORD, BAR, ASIDE)


class Many(NamedTuple):
    """Unit of a list; of: the unit of one, or the columns of one."""

    of: Any


class OrNull(NamedTuple):
    """Unit of what may be null; of: as of Many."""

    of: Any


class MapOf(NamedTuple):
    """Unit of an object with any names; of: as of Many."""

    of: Any


class Choice(NamedTuple):
    """Unit of one of these words."""

    words: Sequence[str]


class Column(NamedTuple):
    """A figure, or a column of a table.

    key: its name in JSON; "" = shown, not in JSON.
    unit: a name in units.WRITERS, TEXT (cut where there is no room), WORD (never cut), BAR (a drawing),
    ASIDE (text that stands below the last column where there is no room),
    "flag", "integer", "number", "difference", or a name of the schema's own; Many, OrNull, MapOf, Choice, or
    an object's columns.
    label: its heading; "" = in JSON, not shown.
    value: the row's field, with dots where it is a field's field, or a function of the row and the
    figures around its table; not given: the row's field of that name.
    text: how it is written, from the row's record and the answer; not given: by the unit.
    sampled: in a sampled trace OPEN, or the name of its spread (model/facts/); "" = exact.
    about: for the schema.
    """

    key: str
    unit: Any = "count"
    label: str | Callable[[Record], str] = ""
    value: str | Callable[[Row, Record], Any] = ""
    text: Callable[[Record, Record], str] | None = None
    sampled: str = ""
    about: str = ""

    def of(self, row: Row, around: Record) -> Any:
        """The value; a named tuple as plain data."""
        if callable(self.value):
            return self.value(row, around)
        found = attrgetter(self.value or self.key)(row)
        return found._asdict() if hasattr(found, "_asdict") else found

    def heading(self, answer: Record) -> str:
        """Of the table in this answer."""
        return self.label if isinstance(self.label, str) else self.label(answer)

    def written(self, record: Record, answer: Record) -> str:
        """The cell."""
        if self.text is not None:
            return self.text(record, answer)
        value = record[self.key]
        return str(value) if self.unit in _TO_THE_LEFT else units.number(value, self.unit)


class Table(NamedTuple):
    """Rows of an answer. of_sites: each row is a site and the row itself; the site's name is shown last.

    title: the line above it; "" for the first of a question, whose own title says it.
    """

    key: str
    columns: tuple[Column, ...]
    rows: Callable[[Any], Iterable[Row]]
    of_sites: bool = False
    about: str = ""
    title: str = ""


def added_later(_row: Row, _around: Record) -> Any:
    """Column.value of what is put in by others, or not at all."""


def record(columns: Sequence[Column], row: Row, around: Record) -> Record:
    """A row as plain data."""
    own = [column for column in columns if column.key and column.value is not added_later]
    return {column.key: column.of(row, around) for column in own}


def is_object(unit: Any) -> bool:
    """True of a unit that is an object's columns."""
    return type(unit) is tuple


def fields_of(kind: Any, unit: str = "count", **sampled: str) -> tuple[Column, ...]:
    """A column for each field of a named tuple; sampled: as Column.sampled, by field."""
    return tuple(Column(name, unit, sampled=sampled.get(name, "")) for name in kind._fields)
