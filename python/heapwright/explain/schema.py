# SPDX-License-Identifier: MIT
"""The JSON schema of explain --json, made from the questions' columns."""

from __future__ import annotations

from heapwright.explain import QUESTIONS, SCHEMA, coverage, over_time, summary, tree
from heapwright.explain.question import Question
from heapwright.model import Latency
from heapwright.report.columns import Choice, Column, Many, fields_of
from heapwright.report.schema import COUNT, SHARE, Schema, any_of, document_of, object_of, type_of

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


def _site() -> Schema:
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


def _names() -> dict[str, Schema]:
    """What the units name."""
    return {
        "count": COUNT,
        "share": SHARE,
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


def _answer(question: Question) -> Schema:
    found = object_of(question.figures, question.tables)
    return {"anyOf": [found, {"$ref": "#/$defs/not_answered"}]} if question.unsampled else found


def schema() -> Schema:
    """The whole document's."""
    own = object_of((Column("file", "text"), Column("summary", summary.FIGURES)))
    own["properties"] |= {
        "questions": any_of(
            {question.name: _answer(question) for question in QUESTIONS},
            "Answers by question; only those that were asked for.",
        ),
        "tree": object_of(_TREE, about="With --tree."),
        "over_time": object_of(over_time.FIGURES, about="With --over-time."),
    }
    own["required"].append("questions")
    return document_of(
        SCHEMA,
        "What heapwright explain --json prints",
        own,
        "Bytes are requested bytes, times are nanoseconds since the start of the recording, shares are of 1.",
        _names(),
    )
