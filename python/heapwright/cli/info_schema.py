# SPDX-License-Identifier: MIT
"""The JSON schema of info --json, derived from the named tuples it prints."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

from heapwright.model.facts.coverage import Span
from heapwright.model.records import Damage, End, Metadata, Module, Thread, UnrecordedProcess
from heapwright.report.schema import COUNT, Schema, closed, document_of, many, type_of

SCHEMA = "heapwright.info/1"
_KINDS = {int: "integer", str: "string", bool: "boolean", float: "number"}


def schema() -> Schema:
    """The schema of the whole document."""
    text, flag = type_of("text"), type_of("flag")
    processes = {
        "is_fork_child": flag,
        "parent_process_id": COUNT,
        "unrecorded_processes": many(_of_tuple(UnrecordedProcess)),
        "children_left_alone": COUNT,
    }
    own = {
        "file": text,
        **dict.fromkeys(("file_bytes", "events", "event_chunks", "stacks", "frames"), COUNT),
        "cut_stacks": many(text),
        "metadata": _of_tuple(Metadata),
        "allocators": many(text),
        "conditions": many(closed({"name": text, "value": text})),
        "processes": closed(processes),
        "is_attached": flag,
        "end": _of_tuple(End),
        "covers_whole_run": flag,
        "coverage": many(_of_tuple(Span)),
        "damage": many(_of_tuple(Damage)),
        "modules": many(_of_tuple(Module)),
        "threads": many(_of_tuple(Thread)),
    }
    return document_of(SCHEMA, "What heapwright info --json prints", closed(own), "Times are nanoseconds.")


def _of_tuple(kind: type) -> Schema:
    fields = {name: _of_value(hint) for name, hint in get_type_hints(kind).items()}
    return {**closed(fields), "description": str(kind.__doc__).splitlines()[0]}


def _of_value(hint: Any) -> Schema:
    parts = get_args(hint)
    return many(_of_value(parts[0])) if parts else {"type": _KINDS[hint]}
