# SPDX-License-Identifier: MIT
"""The JSON schema of try --json, derived from its fields."""

from __future__ import annotations

from heapwright.report.schema import COUNT, Schema, any_of, document_of, object_of, or_null, type_of
from heapwright.trial import document
from heapwright.trial.figures import FIGURES


def schema() -> Schema:
    """The schema of the whole document."""
    figures = any_of({figure.key: {**type_of("figure"), "description": figure.about} for figure in FIGURES})
    return document_of(
        document.SCHEMA,
        "What heapwright try --json prints",
        object_of(document.DOCUMENT),
        "Times are nanoseconds, sizes bytes, shares of 1.",
        {
            "count": COUNT,
            "signed": {"type": "number"},
            "maybe": or_null({"type": "number"}),
            "texts": {"type": "object", "additionalProperties": {"type": "string"}},
            "machine": {"type": "object"},
            "figure": object_of(document.FIGURE),
            "figures": figures,
        },
    )
