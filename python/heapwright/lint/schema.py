# SPDX-License-Identifier: MIT
"""The JSON schema of lint --json, made from the document's columns.

`python -m heapwright.lint.schema` prints it; schemas/lint-1.json is that text.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from heapwright.lint.document import COVERAGE, DOCUMENT, FINDINGS, FIX, GROWING, SCHEMA
from heapwright.report.schema import object_of


def schema() -> dict[str, Any]:
    """The whole document's."""
    own = object_of(DOCUMENT, (FINDINGS,))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA,
        "title": "What heapwright lint --json prints",
        "description": "Bytes are requested bytes, times are nanoseconds. No field is renamed or dropped "
        "within version 1.",
        **own,
        "properties": {"schema": {"const": SCHEMA}, **own["properties"]},
        "required": ["schema", *own["required"]],
        "$defs": {
            "count": {"type": "integer", "minimum": 0},
            "share": {"type": "number", "minimum": 0, "maximum": 1},
            "fix": {"anyOf": [object_of(FIX), {"type": "null"}]},
            "growing": {"anyOf": [object_of(GROWING), {"type": "null"}]},
            "coverage": {"anyOf": [object_of(COVERAGE), {"type": "null"}]},
        },
    }


def as_text() -> str:
    """As it is kept."""
    return json.dumps(schema(), indent=1) + "\n"


if __name__ == "__main__":
    sys.stdout.write(as_text())
