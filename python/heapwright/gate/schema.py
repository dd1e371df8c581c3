# SPDX-License-Identifier: MIT
"""The JSON schema of gate --json, derived from the document's columns."""

from __future__ import annotations

from heapwright.gate.document import CHECKS, DOCUMENT, SCHEMA
from heapwright.report.schema import COUNT, Schema, document_of, object_of


def schema() -> Schema:
    """The schema of the whole document."""
    own = object_of(DOCUMENT, (CHECKS,))
    verdict = {"type": "boolean", "description": "No limit is broken: exit code 0, otherwise 1."}
    own["properties"]["is_within"] = verdict
    own["required"].append("is_within")
    return document_of(
        SCHEMA,
        "What heapwright gate --json prints",
        own,
        "Bytes are requested bytes, times are nanoseconds.",
        {"count": COUNT, "maybe": {"type": ["number", "null"]}},
    )
