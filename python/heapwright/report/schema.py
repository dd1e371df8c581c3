# SPDX-License-Identifier: MIT
"""The JSON schema of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from heapwright.report.columns import OPEN, Choice, Column, Many, MapOf, OrNull, Table, added_later, is_object

Schema = dict[str, Any]
COUNT: Schema = {"type": "integer", "minimum": 0}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}

# By unit; all others are names in the document's $defs.
_PLAIN: Mapping[str, Schema] = {
    "text": {"type": "string"},
    "word": {"type": "string"},
    "flag": {"type": "boolean"},
    "integer": {"type": "integer"},
    "number": {"type": "number", "minimum": 0},
    "difference": {"type": "number"},
    "moment": {"type": "string", "format": "date-time"},
    "bytes": {"$ref": "#/$defs/count"},
    "ns": {"$ref": "#/$defs/count"},
}


def document_of(name: str, title: str, own: Schema, units: str, names: Mapping[str, Schema] = {}) -> Schema:
    """A whole document's: the properties of its own object, what its units are, and what they name."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": name,
        "title": title,
        "description": f"{units} No field is renamed or dropped within version 1.",
        **own,
        "properties": {"schema": {"const": name}, **own["properties"]},
        "required": ["schema", *own["required"]],
        **({"$defs": dict(names)} if names else {}),
    }


def closed(properties: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    """An object with these properties and no others."""
    return {
        "type": "object",
        "properties": {**properties, **(optional or {})},
        "required": list(properties),
        "additionalProperties": False,
    }


def many(item: Schema) -> Schema:
    """A list."""
    return {"type": "array", "items": item}


def or_null(own: Schema) -> Schema:
    """It, or null."""
    return {"anyOf": [own, {"type": "null"}]}


def any_of(properties: Mapping[str, Schema], about: str = "") -> Schema:
    """An object with some of these properties."""
    return {
        "type": "object",
        **_about(about),
        "properties": dict(properties),
        "additionalProperties": False,
    }


def type_of(unit: Any) -> Schema:
    """Of a value with this unit."""
    if isinstance(unit, Many):
        return many(type_of(unit.of))
    if isinstance(unit, OrNull):
        return or_null(type_of(unit.of))
    if isinstance(unit, MapOf):
        return {"type": "object", "additionalProperties": type_of(unit.of)}
    if isinstance(unit, Choice):
        return {"enum": list(unit.words)}
    if is_object(unit):
        return object_of(unit)
    return _PLAIN.get(unit) or {"$ref": f"#/$defs/{unit}"}


def object_of(columns: Sequence[Column], tables: Sequence[Table] = (), about: str = "") -> Schema:
    """An object with these figures and tables, and the intervals of those that samples estimate."""
    properties = {column.key: _column(column) for column in columns if column.key}
    required = [column.key for column in columns if column.key and column.value is not added_later]
    for table in tables:
        rows = site_of(table.columns) if table.of_sites else object_of(table.columns)
        properties[table.key] = {**many(rows), **_about(table.about)}
        required.append(table.key)
    if any(column.sampled not in ("", OPEN) for column in columns):
        properties["intervals"] = {"$ref": "#/$defs/intervals"}
    return {
        "type": "object",
        **_about(about),
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def site_of(columns: Sequence[Column]) -> Schema:
    """An object with these columns beside those of $defs/site."""
    own = object_of(columns)
    del own["additionalProperties"]
    return {**own, "allOf": [{"$ref": "#/$defs/site"}], "unevaluatedProperties": False}


def _column(column: Column) -> Schema:
    found = type_of(column.unit)
    if column.sampled == OPEN:
        found = {"anyOf": [found, {"$ref": "#/$defs/open"}]}
    return {**found, **_about(column.about)}


def _about(text: str) -> Schema:
    return {"description": text} if text else {}
