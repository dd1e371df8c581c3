# SPDX-License-Identifier: MIT
"""The JSON schema of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from heapwright.report.columns import OPEN, Choice, Column, Many, Table, added_later, is_object

Schema = dict[str, Any]

# By unit; all others are names in the document's $defs.
_PLAIN: Mapping[str, Schema] = {
    "text": {"type": "string"},
    "word": {"type": "string"},
    "flag": {"type": "boolean"},
    "integer": {"type": "integer"},
    "number": {"type": "number", "minimum": 0},
    "moment": {"type": "string", "format": "date-time"},
    "bytes": {"$ref": "#/$defs/count"},
    "ns": {"$ref": "#/$defs/count"},
}


def type_of(unit: Any) -> Schema:
    """Of a value with this unit."""
    if isinstance(unit, Many):
        return {"type": "array", "items": type_of(unit.of)}
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
        properties[table.key] = {"type": "array", "items": rows, **_about(table.about)}
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
