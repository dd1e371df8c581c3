# SPDX-License-Identifier: MIT
"""The JSON schema of explain --json, derived from the questions' columns."""

from __future__ import annotations

from heapwright.explain import QUESTIONS, SCHEMA, coverage, over_time, site_types, summary, tree
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
        about="A call site: the innermost frame outside the allocator, the runtime and wrappers. "
        "file is empty and line 0 if lines are not known.",
    )
    del found["additionalProperties"]  # rows have their own columns besides these
    found["properties"] |= {
        "paths": {
            **type_of(Many("call_path")),
            "maxItems": 3,
            "description": "Callers, in the tables peak, leaks and time: the heaviest paths, as shares of "
            "the site's weight.",
        },
        "nested": {
            **object_of(
                (
                    Column("functions", Many("text")),
                    Column("is_all", "flag"),
                    Column("allocator", "text"),
                    Column("is_shared", "flag"),
                    Column("switch", "text"),
                ),
            ),
            "description": "The functions that the site calls if it gets blocks through any: of nested "
            "allocators, or below a Python function of installed extensions; those of most allocations "
            "first. is_all: for all allocations. allocator: as --known-allocators has it; empty: found "
            "by its callers, given with --skip, or an extension. is_shared: blocks are shared by later "
            "callers. switch: the setting with which each object is a block of its own; empty: none.",
        },
        "type": {
            **object_of(site_types.FIGURES),
            "description": "In the tables of sites, where a C++ type is known: that of most blocks. weight: "
            "as of the site's paths; without these, allocated bytes. share: of the site's weight. others: "
            "further types; all blocks whose type is not known are one. is_most: these are not more.",
        },
        "callers": {
            **type_of("count"),
            "description": "With paths: different functions that call the site.",
        },
        "skip": {
            **type_of("text"),
            "description": "With paths: for --skip, which names the callers, where the site has over half "
            "and is called by many; otherwise empty.",
        },
        "frames": {
            **type_of(Many("frame")),
            "description": "With --full-stacks: the whole stack, innermost first.",
        },
    }
    return found


def _names() -> dict[str, Schema]:
    """What the units refer to."""
    return {
        "count": COUNT,
        "share": SHARE,
        "latency": object_of(fields_of(Latency)),
        "site": _site(),
        "frame": object_of(
            _LOCATION, about="line is 0 if it is not known, or if a caller calls from several."
        ),
        "call_path": object_of(
            _CALL_PATH,
            about="weight: bytes or nanoseconds, as the table's first figure; callers: nearest first; "
            "is_cut: further callers differ.",
        ),
        "branch": object_of(_BRANCH),
        "live_at": {
            **type_of(Choice(coverage.MOMENTS)),
            "description": "The moment of live_at_end_* and the leaks.",
        },
        "intervals": {
            "type": "object",
            "description": "The 95 % intervals of a sampled trace's estimates by the figure's name, from and "
            "to.",
            "additionalProperties": {**type_of(Many("count")), "minItems": 2, "maxItems": 2},
        },
        "not_answered": object_of(
            (Column("not_answered", "text"),), about="Why a sampled trace does not answer this question."
        ),
        "open": {"type": "null", "description": "Not known from a sampled trace."},
    }


def _answer(question: Question) -> Schema:
    found = object_of(question.figures, question.tables)
    return {"anyOf": [found, {"$ref": "#/$defs/not_answered"}]} if question.unsampled else found


def schema() -> Schema:
    """The schema of the whole document."""
    own = object_of((Column("file", "text"), Column("summary", summary.FIGURES)))
    own["properties"] |= {
        "questions": any_of(
            {question.name: _answer(question) for question in QUESTIONS},
            "Answers by question; only the requested ones.",
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
