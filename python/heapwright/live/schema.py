# SPDX-License-Identifier: MIT
"""The JSON schemas of count --json and top --json, made from the documents' columns."""

from __future__ import annotations

from heapwright.live import document, top_document
from heapwright.report.schema import COUNT, Schema, document_of, object_of, or_null

_UNITS = "Times are nanoseconds."
_DEFINITIONS: Schema = {
    "count": COUNT,
    "signed": {"type": "integer"},
    "maybe_flag": {"type": ["boolean", "null"]},
    "maybe": {"type": ["number", "null"], "minimum": 0},
    "maybe_signed": {"type": ["integer", "null"]},
}


def count_schema() -> Schema:
    """Of count's whole document."""
    title, own = "What heapwright count --json prints", object_of(document.DOCUMENT)
    names = {
        **_DEFINITIONS,
        "attach": or_null(object_of(document.ATTACH)),
        "memory": or_null(object_of(document.OF_MEMORY)),
    }
    return document_of(document.SCHEMA, title, own, _UNITS, names)


def top_schema() -> Schema:
    """Of top's. What is told of one process is there where one was named."""
    own = object_of((*top_document.DOCUMENT, *top_document.OF_ONE))
    own["required"] = object_of(top_document.DOCUMENT)["required"]
    return document_of(top_document.SCHEMA, "What heapwright top --json prints", own, _UNITS, _DEFINITIONS)
