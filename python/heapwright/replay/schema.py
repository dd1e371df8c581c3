# SPDX-License-Identifier: MIT
"""The JSON schema of replay --json, made from its fields.

`python -m heapwright.replay.schema` prints it; schemas/replay-1.json is that text.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from heapwright.replay import fields
from heapwright.report.columns import Many
from heapwright.report.schema import Schema, object_of, type_of


def _or_null(of: Schema) -> Schema:
    return {"anyOf": [of, {"type": "null"}]}


def _map_of(of: Schema) -> Schema:
    return {"type": "object", "additionalProperties": of}


def _names() -> dict[str, Schema]:
    """What the units name."""
    amount = type_of("number")
    figure = {"$ref": "#/$defs/figure"}
    return {
        "count": {"type": "integer", "minimum": 0},
        "difference": {"type": "number"},
        "amount_or_null": _or_null(amount),
        "amounts_or_null": _or_null(type_of(Many("number"))),
        "texts": _map_of(type_of("text")),
        "raw_figures": _map_of({"type": "number"}),
        "machine": {"type": "object"},
        "figure": object_of(fields.FIGURE),
        "figures": {
            "type": "object",
            "properties": dict.fromkeys(fields.FIGURE_KEYS, figure),
            "additionalProperties": False,
        },
        "spread": object_of(fields.SPREAD),
        "measured": {
            "type": "object",
            "properties": {
                column.key: {"$ref": "#/$defs/spread", "description": column.about}
                for column in fields.MEASURED
            },
            "additionalProperties": False,
        },
        "fidelity_or_null": _or_null(object_of(fields.FIDELITY)),
        "call_sites_or_null": _or_null(object_of(fields.CALL_SITES)),
        "held_or_null": _or_null(object_of(fields.HELD)),
        "gaps_or_null": _or_null(object_of(fields.GAPS)),
        "kernel_or_null": _or_null(object_of(fields.KERNEL)),
        "system_calls_or_null": _or_null(_map_of(object_of(fields.SYSTEM_CALL))),
        "functions_or_null": _or_null(type_of(Many(fields.FUNCTION))),
        "whole_functions_or_null": _or_null(type_of(Many(fields.WHOLE_FUNCTION))),
        "time_fidelity_or_null": _or_null(object_of(fields.TIME_FIDELITY)),
    }


def schema() -> dict[str, Any]:
    """The whole document's."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": fields.SCHEMA,
        "title": "What heapwright replay --json prints",
        **object_of(
            fields.DOCUMENT,
            about="Times are nanoseconds, sizes bytes, shares of 1. No field is renamed or dropped within "
            "version 1.",
        ),
        "$defs": _names(),
    }


def as_text() -> str:
    """As it is kept."""
    return json.dumps(schema(), indent=1) + "\n"


if __name__ == "__main__":
    sys.stdout.write(as_text())
