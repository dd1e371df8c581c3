# SPDX-License-Identifier: MIT
"""The JSON schema of explain --json --brief, derived from the questions' columns that it keeps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from heapwright.explain import QUESTIONS, summary
from heapwright.explain.brief import MOST_BYTES, PARTS, SCHEMA, SUMMARY, Part
from heapwright.explain.schema import schema as explain_schema
from heapwright.report.columns import Column, Many, Table, is_object
from heapwright.report.schema import Schema, any_of, closed, document_of, many, object_of, type_of

_NAME = Column("name", "text")


def _chosen(columns: Iterable[Column], names: Sequence[str]) -> tuple[Column, ...]:
    by_name = {column.key: column for column in columns}
    return tuple(by_name[name] for name in names if name in by_name)


def _table(table: Table, names: Sequence[str]) -> Column:
    own = (_NAME,) if table.of_sites else ()
    return Column(table.key, Many((*own, *_chosen(table.columns, names))), about=table.about)


def _answer(part: Part) -> Schema:
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


def schema() -> Schema:
    """The schema of the whole document."""
    known = explain_schema()["$defs"]
    latency, kept = known["latency"]["properties"], SUMMARY["allocation_latency"]
    names = {name: known[name] for name in ("count", "share", "live_at", "intervals", "not_answered", "open")}
    names["latency"] = closed({name: latency[name] for name in kept})
    questions = any_of(
        {part.question: _answer(part) for part in PARTS},
        "Answers by question; only the requested ones.",
    )
    own = {
        "file": type_of("text"),
        "summary": object_of(_summary()),
        "questions": questions,
        "next": {**many(type_of("text")), "description": "Commands to run now."},
    }
    return document_of(
        SCHEMA,
        "What heapwright explain --json --brief prints",
        closed(own),
        f"At most {MOST_BYTES} bytes on one line: a part of heapwright.explain/1, whose "
        "fields keep their names and meaning. Tables have the rows that fit, names lose their "
        "middle.",
        names,
    )
