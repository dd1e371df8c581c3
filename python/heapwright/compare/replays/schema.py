# SPDX-License-Identifier: MIT
"""The JSON schema of compare --json for two replays, made from the document's columns.

`python -m heapwright.compare.replays.schema` prints it; schemas/compare-replays-1.json is that text.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from heapwright.compare.replays.document import CANDIDATES, DOCUMENT, FIGURE, SCHEMA
from heapwright.replay.decision import FIGURES
from heapwright.report.schema import object_of


def schema() -> dict[str, Any]:
    """The whole document's."""
    own = object_of(DOCUMENT, (CANDIDATES,))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA,
        "title": "What heapwright compare --json prints of two replays",
        "description": "Times are nanoseconds, memory is bytes, shares are of 1. No field is renamed or "
        "dropped within version 1.",
        **own,
        "properties": {"schema": {"const": SCHEMA}, **own["properties"]},
        "required": ["schema", *own["required"]],
        "$defs": {
            "count": {"type": "integer", "minimum": 0},
            "share": {"type": "number", "minimum": 0, "maximum": 1},
            "signed": {"type": "number"},
            "maybe_signed": {"type": ["number", "null"]},
            "figure": object_of(FIGURE),
            "figures": {
                "type": "object",
                "description": "As in heapwright.replay/1. What a side did not measure is left out.",
                "properties": {figure.key: {"$ref": "#/$defs/figure"} for figure in FIGURES},
                "additionalProperties": False,
            },
        },
    }


def as_text() -> str:
    """As it is kept."""
    return json.dumps(schema(), indent=1) + "\n"


if __name__ == "__main__":
    sys.stdout.write(as_text())
