# SPDX-License-Identifier: MIT
"""The JSON schema of lint --json, derived from the document's columns."""

from __future__ import annotations

from heapwright.lint.document import COVERAGE, DOCUMENT, FINDINGS, FIX, GROWING, SCHEMA
from heapwright.report.schema import COUNT, SHARE, Schema, document_of, object_of, or_null


def schema() -> Schema:
    """The schema of the whole document."""
    return document_of(
        SCHEMA,
        "What heapwright lint --json prints",
        object_of(DOCUMENT, (FINDINGS,)),
        "Bytes are requested bytes, times are nanoseconds.",
        {
            "count": COUNT,
            "share": SHARE,
            "fix": or_null(object_of(FIX)),
            "growing": or_null(object_of(GROWING)),
            "coverage": or_null(object_of(COVERAGE)),
        },
    )
