# SPDX-License-Identifier: MIT
"""The JSON schema of compare --json for two replays, derived from the document's columns."""

from __future__ import annotations

from heapwright.compare.replays.document import CANDIDATES, DOCUMENT, FIGURE, SCHEMA
from heapwright.replay.figures import FIGURES
from heapwright.report.schema import COUNT, SHARE, Schema, any_of, document_of, object_of, type_of


def schema() -> Schema:
    """The schema of the whole document."""
    return document_of(
        SCHEMA,
        "What heapwright compare --json prints for two replays",
        object_of(DOCUMENT, (CANDIDATES,)),
        "Times are nanoseconds, memory is bytes, shares are of 1.",
        {
            "count": COUNT,
            "share": SHARE,
            "signed": {"type": "number"},
            "maybe_signed": {"type": ["number", "null"]},
            "figure": object_of(FIGURE),
            "figures": any_of(
                {figure.key: type_of("figure") for figure in FIGURES},
                "As in heapwright.replay/1. Without figures that a side did not measure.",
            ),
        },
    )
