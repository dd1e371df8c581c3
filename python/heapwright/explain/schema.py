# SPDX-License-Identifier: MIT
"""The JSON schema of explain --json, made from the questions' columns.

`python -m heapwright.explain.schema` prints it; schemas/explain-1.json is that text.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from heapwright.explain import QUESTIONS, SCHEMA, coverage, over_time, summary, tree
from heapwright.explain.question import Question
from heapwright.model import Latency
from heapwright.report.columns import Choice, Column, Many, fields_of
from heapwright.report.schema import object_of, type_of

_LOCATION = (
    Column("function", "text"),
    Column("file", "text"),
    Column("line"),
    Column("library", "text"),
    Column("name", "text"),
)
_CALL_PATH = (
    Column("weight"),
    Column("share", "share"),
    Column("is_cut", "flag"),
    Column("callers", Many("frame")),
)
_BRANCH = (*_LOCATION, Column("weight"), Column("share", "share"), Column("branches", Many("branch")))
_TREE = (
    Column("measure", Choice(tuple(tree.MEASURES))),
    Column("from", Choice(tree.ENDS)),
    Column("min_share", "share"),
    Column("weight"),
    Column("branches", Many("branch")),
)


def _site() -> dict[str, Any]:
    found = object_of(
        (Column("site"), *_LOCATION),
        about="A call site: the innermost frame that is not the allocator's, the run time's or a wrapper's. "
        "file is empty and line 0 where lines are not known.",
    )
    del found["additionalProperties"]  # of the rows that have their own columns beside these
    found["properties"] |= {
        "paths": {
            **type_of(Many("call_path")),
            "maxItems": 3,
            "description": "Who called, in the tables peak, leaks and time: the heaviest paths, shares of "
            "the site's weight.",
        },
        "frames": {
            **type_of(Many("frame")),
            "description": "With --full-stacks: the whole stack, innermost first.",
        },
    }
    return found


def _names() -> dict[str, Any]:
    """What the units name."""
    return {
        "count": {"type": "integer", "minimum": 0},
        "share": {"type": "number", "minimum": 0, "maximum": 1},
        "latency": object_of(fields_of(Latency)),
        "site": _site(),
        "frame": object_of(
            _LOCATION, about="line is 0 where it is not known, or where a caller calls from several."
        ),
        "call_path": object_of(
            _CALL_PATH,
            about="weight: bytes or nanoseconds, as the table's first figure; callers: nearest first; "
            "is_cut: they go on in several ways.",
        ),
        "branch": object_of(_BRANCH),
        "live_at": {
            **type_of(Choice(coverage.MOMENTS)),
            "description": "The moment that live_at_end_* and the leaks are about.",
        },
        "intervals": {
            "type": "object",
            "description": "Of a sampled trace's estimates: the 95 % interval by the figure's name, from and "
            "to.",
            "additionalProperties": {**type_of(Many("count")), "minItems": 2, "maxItems": 2},
        },
        "not_answered": object_of(
            (Column("not_answered", "text"),), about="A sampled trace does not answer this question; why."
        ),
        "open": {"type": "null", "description": "Left open by a sampled trace."},
    }


def _answer(question: Question) -> dict[str, Any]:
    found = object_of(question.figures, question.tables)
    return {"anyOf": [found, {"$ref": "#/$defs/not_answered"}]} if question.unsampled else found


def schema() -> dict[str, Any]:
    """The whole document's."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA,
        "title": "What heapwright explain --json prints",
        "description": "Bytes are requested bytes, times are nanoseconds since the start of the recording, "
        "shares are of 1. No field is renamed or dropped within version 1.",
        "type": "object",
        "properties": {
            "schema": {"const": SCHEMA},
            "file": {"type": "string"},
            "summary": object_of(summary.FIGURES),
            "questions": {
                "type": "object",
                "description": "Answers by question; only those that were asked for.",
                "properties": {question.name: _answer(question) for question in QUESTIONS},
                "additionalProperties": False,
            },
            "tree": object_of(_TREE, about="With --tree."),
            "over_time": object_of(over_time.FIGURES, about="With --over-time."),
        },
        "required": ["schema", "file", "summary", "questions"],
        "additionalProperties": False,
        "$defs": _names(),
    }


def as_text() -> str:
    """As it is kept."""
    return json.dumps(schema(), indent=1) + "\n"


if __name__ == "__main__":
    sys.stdout.write(as_text())
