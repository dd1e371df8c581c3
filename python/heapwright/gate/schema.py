# SPDX-License-Identifier: MIT
"""The JSON schema of gate --json, made from the document's columns.

`python -m heapwright.gate.schema` prints it; schemas/gate-1.json is that text.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from heapwright.gate.document import CHECKS, DOCUMENT, SCHEMA
from heapwright.report.schema import object_of


def schema() -> dict[str, Any]:
    """The whole document's."""
    own = object_of(DOCUMENT, (CHECKS,))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA,
        "title": "What heapwright gate --json prints",
        "description": "Bytes are requested bytes, times are nanoseconds. No field is renamed or dropped "
        "within version 1.",
        **own,
        "properties": {
            "schema": {"const": SCHEMA},
            **own["properties"],
            "is_within": {"type": "boolean", "description": "No limit is broken: exit code 0, otherwise 1."},
        },
        "required": ["schema", *own["required"], "is_within"],
        "$defs": {
            "count": {"type": "integer", "minimum": 0},
            "maybe": {"type": ["number", "null"]},
        },
    }


def as_text() -> str:
    """As it is kept."""
    return json.dumps(schema(), indent=1) + "\n"


if __name__ == "__main__":
    sys.stdout.write(as_text())
