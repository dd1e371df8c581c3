# SPDX-License-Identifier: MIT
"""Data classes as declarations of what a document has: the columns of their fields.

asdict() makes JSON of an instance, report/schema.py the schema of the columns. A unit follows from the
field's type, or stands in its annotation; text there is for the schema:

    lines: Annotated[int, "Of the whole file."]
    error: Annotated[float, Unit("difference")]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, NamedTuple, Union, get_args, get_origin, get_type_hints

from heapwright.report.columns import Choice, Column, Many, MapOf, OrNull


class Unit(NamedTuple):
    """A unit by its name, as Column.unit."""

    name: str


# Any number; a plain float is 0 or more.
Difference = Annotated[float, Unit("difference")]

_PLAIN: Mapping[object, str] = {int: "count", float: "number", str: "text", bool: "flag"}


@cache
def columns_of(kind: type) -> tuple[Column, ...]:
    """A column for each field of a data class, in their order."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple(Column(name, _unit(hints[name]), about=_about(hints[name])) for name in names_of(kind))


def names_of(kind: type) -> tuple[str, ...]:
    """The names of a data class's fields."""
    return tuple(field.name for field in fields(kind))


def _about(hint: object) -> str:
    return " ".join(said for said in getattr(hint, "__metadata__", ()) if isinstance(said, str))


def _unit(hint: object) -> object:
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        said = next((one for one in parts[1:] if isinstance(one, Unit | Choice)), None)
        return said.name if isinstance(said, Unit) else said or _unit(parts[0])
    if origin in (Union, UnionType):
        return OrNull(next(_unit(part) for part in parts if part is not NoneType))
    if origin is not None:
        return MapOf(_unit(parts[1])) if issubclass(origin, Mapping) else Many(_unit(parts[0]))
    return columns_of(hint) if isinstance(hint, type) and is_dataclass(hint) else _PLAIN[hint]
