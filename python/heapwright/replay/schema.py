# SPDX-License-Identifier: MIT
"""The JSON schema of replay --json, derived from its fields."""

from __future__ import annotations

from heapwright.replay import fields
from heapwright.report.columns import Many
from heapwright.report.schema import COUNT, Schema, any_of, document_of, object_of, or_null, type_of


def _map_of(of: Schema) -> Schema:
    return {"type": "object", "additionalProperties": of}


def _names() -> dict[str, Schema]:
    """What the units refer to."""
    return {
        "count": COUNT,
        "difference": {"type": "number"},
        "amount_or_null": or_null(type_of("number")),
        "amounts_or_null": or_null(type_of(Many("number"))),
        "texts": _map_of(type_of("text")),
        "raw_figures": _map_of({"type": "number"}),
        "machine": {"type": "object"},
        "figure": object_of(fields.FIGURE),
        "figures": any_of(dict.fromkeys(fields.FIGURE_KEYS, type_of("figure"))),
        "spread": object_of(fields.SPREAD),
        "measured": any_of(
            {column.key: {**type_of("spread"), "description": column.about} for column in fields.MEASURED}
        ),
        "fidelity_or_null": or_null(object_of(fields.FIDELITY)),
        "call_sites_or_null": or_null(object_of(fields.CALL_SITES)),
        "held_or_null": or_null(object_of(fields.HELD)),
        "gaps_or_null": or_null(object_of(fields.GAPS)),
        "kernel_or_null": or_null(object_of(fields.KERNEL)),
        "system_calls_or_null": or_null(_map_of(object_of(fields.SYSTEM_CALL))),
        "functions_or_null": or_null(type_of(Many(fields.FUNCTION))),
        "whole_functions_or_null": or_null(type_of(Many(fields.WHOLE_FUNCTION))),
        "time_fidelity_or_null": or_null(object_of(fields.TIME_FIDELITY)),
    }


def schema() -> Schema:
    """The schema of the whole document."""
    return document_of(
        fields.SCHEMA,
        "What heapwright replay --json prints",
        object_of(fields.DOCUMENT),
        "Times are nanoseconds, sizes bytes, shares of 1.",
        _names(),
    )
