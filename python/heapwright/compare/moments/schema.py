# SPDX-License-Identifier: MIT
"""The JSON schema of compare --json for two moments of a process."""

from __future__ import annotations

from heapwright.compare.moments.document import DOCUMENT, SCHEMA
from heapwright.report.schema import COUNT, Schema, document_of, object_of


def schema() -> Schema:
    """The schema of the whole document."""
    return document_of(
        SCHEMA,
        "What heapwright compare --json prints for two dumps of one process",
        object_of(DOCUMENT),
        "Bytes are requested bytes, times are nanoseconds.",
        {"count": COUNT, "signed": {"type": "number"}, "maybe_signed": {"type": ["number", "null"]}},
    )
