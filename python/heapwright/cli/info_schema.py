# SPDX-License-Identifier: MIT
"""The JSON schema of info --json, made from the named tuples that it prints.

`python -m heapwright.cli.info_schema` prints it; schemas/info-1.json is that text.
"""

from __future__ import annotations

import json
import sys
from typing import Any, get_args, get_type_hints

from heapwright.model.facts.coverage import Span
from heapwright.model.records import Damage, End, Metadata, Module, Thread, UnrecordedProcess

SCHEMA = "heapwright.info/1"
_KINDS = {int: "integer", str: "string", bool: "boolean", float: "number"}
_COUNT = {"type": "integer", "minimum": 0}
_FLAG = {"type": "boolean"}


def schema() -> dict[str, Any]:
    """Of the whole document."""
    condition = {"name": {"type": "string"}, "value": {"type": "string"}}
    processes = {
        "is_fork_child": _FLAG,
        "parent_process_id": _COUNT,
        "unrecorded_processes": _many(_of_tuple(UnrecordedProcess)),
        "children_left_alone": _COUNT,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA,
        "title": "What heapwright info --json prints",
        "description": "Times are nanoseconds. No field is renamed or dropped within version 1.",
        **_object(
            {
                "schema": {"const": SCHEMA},
                "file": {"type": "string"},
                **dict.fromkeys(("file_bytes", "events", "event_chunks", "stacks", "frames"), _COUNT),
                "metadata": _of_tuple(Metadata),
                "conditions": _many(_object(condition)),
                "processes": _object(processes),
                "is_attached": _FLAG,
                "end": _of_tuple(End),
                "covers_whole_run": _FLAG,
                "coverage": _many(_of_tuple(Span)),
                "damage": _many(_of_tuple(Damage)),
                "modules": _many(_of_tuple(Module)),
                "threads": _many(_of_tuple(Thread)),
            }
        ),
    }


def _of_tuple(kind: type) -> dict[str, Any]:
    fields = {name: _of_value(hint) for name, hint in get_type_hints(kind).items()}
    return {**_object(fields), "description": str(kind.__doc__).splitlines()[0]}


def _of_value(hint: Any) -> dict[str, Any]:
    parts = get_args(hint)
    return _many(_of_value(parts[0])) if parts else {"type": _KINDS[hint]}


def _many(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def as_text() -> str:
    """As it is kept."""
    return json.dumps(schema(), indent=1) + "\n"


if __name__ == "__main__":
    sys.stdout.write(as_text())
