# SPDX-License-Identifier: MIT
"""The JSON schemas of count --json and top --json, made from the documents' columns.

`python -m heapwright.live.schema count` prints one; schemas/count-1.json is that text.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from heapwright.live import document, top_document
from heapwright.report.schema import object_of

_DEFINITIONS = {
    "count": {"type": "integer", "minimum": 0},
    "signed": {"type": "integer"},
    "maybe": {"type": ["number", "null"], "minimum": 0},
    "maybe_signed": {"type": ["integer", "null"]},
}


def count_schema() -> dict[str, Any]:
    """Of count's whole document."""
    attach = {"attach": {"anyOf": [object_of(document.ATTACH), {"type": "null"}]}}
    return _schema("count", document.SCHEMA, object_of(document.DOCUMENT), _DEFINITIONS | attach)


def top_schema() -> dict[str, Any]:
    """Of top's. What is told of one process is there where one was named."""
    own = object_of((*top_document.DOCUMENT, *top_document.OF_ONE))
    own["required"] = object_of(top_document.DOCUMENT)["required"]
    return _schema("top", top_document.SCHEMA, own, _DEFINITIONS)


def _schema(command: str, name: str, own: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": name,
        "title": f"What heapwright {command} --json prints",
        "description": "Times are nanoseconds. No field is renamed or dropped within version 1.",
        **own,
        "properties": {"schema": {"const": name}, **own["properties"]},
        "required": ["schema", *own["required"]],
        "$defs": definitions,
    }


SCHEMAS = {"count": count_schema, "top": top_schema}


def as_text(command: str) -> str:
    """As it is kept."""
    return json.dumps(SCHEMAS[command](), indent=1) + "\n"


if __name__ == "__main__":
    sys.stdout.write(as_text(sys.argv[1]))
