# SPDX-License-Identifier: MIT
"""The JSON schema of replay --json, derived from the classes of its document."""

from __future__ import annotations

from heapwright.replay.figures import FIGURES, SCHEMA
from heapwright.replay.result import Document, Judged, Spread
from heapwright.replay.spread import MEASURES
from heapwright.report.declared import columns_of
from heapwright.report.schema import COUNT, Schema, any_of, document_of, object_of, type_of


def schema() -> Schema:
    """The schema of the whole document."""
    measures = {measure.key: {**type_of("spread"), "description": measure.about} for measure in MEASURES}
    return document_of(
        SCHEMA,
        "What heapwright replay --json prints",
        object_of(columns_of(Document)),
        "Times are nanoseconds, sizes bytes, shares of 1.",
        {
            "count": COUNT,
            "machine": {"type": "object"},
            "figure": object_of(columns_of(Judged)),
            "figures": any_of({figure.key: type_of("figure") for figure in FIGURES}),
            "spread": object_of(columns_of(Spread)),
            "measured": any_of(measures),
        },
    )
