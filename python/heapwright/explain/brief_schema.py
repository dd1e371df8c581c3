# SPDX-License-Identifier: MIT
"""The JSON schema of explain --json --brief, made from the questions' columns that it keeps.

`python -m heapwright.explain.brief_schema` prints it; schemas/brief-1.json is that text.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from heapwright.explain import QUESTIONS, schema, summary
from heapwright.explain.brief import MOST_BYTES, PARTS, SCHEMA, SUMMARY, Part
from heapwright.report.columns import Column, Many, Table, is_object
from heapwright.report.schema import object_of

_NAME = Column("name", "text")


def _chosen(columns: Iterable[Column], names: Sequence[str]) -> tuple[Column, ...]:
    by_name = {column.key: column for column in columns}
    return tuple(by_name[name] for name in names if name in by_name)


def _table(table: Table, names: Sequence[str]) -> Column:
    own = (_NAME,) if table.of_sites else ()
    return Column(table.key, Many((*own, *_chosen(table.columns, names))), about=table.about)


def _answer(part: Part) -> dict[str, Any]:
    question = next(one for one in QUESTIONS if one.name == part.question)
    tables = {table.key: table for table in question.tables}
    kept = [_table(tables[key], ("name", *names)) for key, names in part.tables.items()]
    found = object_of((*_chosen(question.figures, part.figures), *kept))
    return {"anyOf": [found, {"$ref": "#/$defs/not_answered"}]} if question.unsampled else found


def _summary() -> tuple[Column, ...]:
    columns = _chosen(summary.FIGURES, tuple(SUMMARY))
    return tuple(column._replace(unit=_unit(column.unit, SUMMARY[column.key])) for column in columns)


def _unit(unit: Any, names: Sequence[str]) -> Any:
    if names == ():
        return unit
    return _chosen(unit, names) if is_object(unit) else "latency"


def document() -> dict[str, Any]:
    """The whole document's."""
    known = schema.schema()["$defs"]
    latency = known["latency"]
    kept = SUMMARY["allocation_latency"]
    names = {name: known[name] for name in ("count", "share", "live_at", "intervals", "not_answered", "open")}
    names["latency"] = {
        **latency,
        "properties": {name: latency["properties"][name] for name in kept},
        "required": list(kept),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA,
        "title": "What heapwright explain --json --brief prints",
        "description": f"At most {MOST_BYTES} bytes on one line: a part of heapwright.explain/1, whose "
        "fields keep their names and meaning. Tables have the rows that there is room for, names lose their "
        "middle. No field is renamed or dropped within version 1.",
        "type": "object",
        "properties": {
            "schema": {"const": SCHEMA},
            "file": {"type": "string"},
            "summary": object_of(_summary()),
            "questions": {
                "type": "object",
                "description": "Answers by question; only those that were asked for.",
                "properties": {part.question: _answer(part) for part in PARTS},
                "additionalProperties": False,
            },
            "next": {"type": "array", "items": {"type": "string"}, "description": "Commands to run now."},
        },
        "required": ["schema", "file", "summary", "questions", "next"],
        "additionalProperties": False,
        "$defs": names,
    }


def as_text() -> str:
    """As it is kept."""
    return json.dumps(document(), indent=1) + "\n"


if __name__ == "__main__":
    sys.stdout.write(as_text())
