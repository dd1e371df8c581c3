# SPDX-License-Identifier: MIT
"""The JSON schema of compare --json, made from the document's columns.

`python -m heapwright.compare.schema` prints it; schemas/compare-1.json is that text.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from heapwright.compare.advised import FIGURES
from heapwright.compare.document import ADVICE, DOCUMENT, OUTCOME, SCHEMA, SITE_FIGURE, SITES, TOTALS
from heapwright.compare.figures import SITE_FIGURES
from heapwright.report.schema import object_of


def schema() -> dict[str, Any]:
    """The whole document's."""
    own = object_of(DOCUMENT, (TOTALS, SITES, ADVICE))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA,
        "title": "What heapwright compare --json prints",
        "description": "Bytes are requested bytes, times are nanoseconds, shares are of 1. No field is "
        "renamed or dropped within version 1.",
        **own,
        "properties": {
            "schema": {"const": SCHEMA},
            **own["properties"],
            "same_sites": {"type": "integer", "minimum": 0, "description": "How many sites do not differ."},
        },
        "required": ["schema", *own["required"], "same_sites"],
        "$defs": {
            "count": {"type": "integer", "minimum": 0},
            "share": {"type": "number", "minimum": 0, "maximum": 1},
            "signed": {"type": "number"},
            "maybe_signed": {"type": ["number", "null"]},
            "site_figures": {
                "type": "object",
                "description": "By figure. A figure that is not known on both sides is left out.",
                "properties": {figure.key: {"$ref": "#/$defs/site_figure"} for figure in SITE_FIGURES},
                "additionalProperties": False,
            },
            "outcomes": {
                "type": "object",
                "properties": {figure: object_of(OUTCOME) for figure in FIGURES.values()},
                "additionalProperties": False,
            },
            "site_figure": object_of(SITE_FIGURE),
        },
    }


def as_text() -> str:
    """As it is kept."""
    return json.dumps(schema(), indent=1) + "\n"


if __name__ == "__main__":
    sys.stdout.write(as_text())
