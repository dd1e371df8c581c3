# SPDX-License-Identifier: MIT
"""The JSON schema of compare --json, derived from the document's columns."""

from __future__ import annotations

from heapwright.compare.advised import FIGURES
from heapwright.compare.document import ADVICE, DOCUMENT, HOLDERS, OUTCOME, SCHEMA, SITE_FIGURE, SITES, TOTALS
from heapwright.compare.figures import SITE_FIGURES
from heapwright.report.schema import COUNT, SHARE, Schema, any_of, document_of, object_of, type_of


def schema() -> Schema:
    """The schema of the whole document."""
    own = object_of(DOCUMENT, (TOTALS, SITES, HOLDERS, ADVICE))
    own["properties"]["same_sites"] = {**COUNT, "description": "Number of sites that do not differ."}
    own["required"].append("same_sites")
    return document_of(
        SCHEMA,
        "What heapwright compare --json prints",
        own,
        "Bytes are requested bytes, times are nanoseconds, shares are of 1.",
        {
            "count": COUNT,
            "share": SHARE,
            "signed": {"type": "number"},
            "maybe_signed": {"type": ["number", "null"]},
            "site_figures": any_of(
                {figure.key: type_of("site_figure") for figure in SITE_FIGURES},
                "By figure, without figures that are not known on both sides.",
            ),
            "outcomes": any_of(dict.fromkeys(FIGURES.values(), object_of(OUTCOME))),
            "site_figure": object_of(SITE_FIGURE),
        },
    )
