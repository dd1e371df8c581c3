# SPDX-License-Identifier: MIT
"""The JSON schema of count --json, made from the document's columns.

`python -m heapwright.live.schema` prints it; schemas/count-1.json is that text.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from heapwright.live.document import ATTACH, DOCUMENT, SCHEMA
from heapwright.report.schema import object_of


def schema() -> dict[str, Any]:
    """The whole document's."""
    own = object_of(DOCUMENT)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA,
        "title": "What heapwright count --json prints",
        "description": "Times are nanoseconds. No field is renamed or dropped within version 1.",
        **own,
        "properties": {"schema": {"const": SCHEMA}, **own["properties"]},
        "required": ["schema", *own["required"]],
        "$defs": {
            "count": {"type": "integer", "minimum": 0},
            "signed": {"type": "integer"},
            "maybe": {"type": ["number", "null"], "minimum": 0},
            "maybe_signed": {"type": ["integer", "null"]},
            "attach": {"anyOf": [object_of(ATTACH), {"type": "null"}]},
        },
    }


def as_text() -> str:
    """As it is kept."""
    return json.dumps(schema(), indent=1) + "\n"


if __name__ == "__main__":
    sys.stdout.write(as_text())
