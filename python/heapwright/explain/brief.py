# SPDX-License-Identifier: MIT
"""The explanation in 8 KB, for programs that act on it and pay for each word.

A part of the output of explain --json: figures and columns keep their names and meaning, long names and
sentences lose their middle, and tables have as many rows as fit.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from heapwright.explain.report import Answer

SCHEMA = "heapwright.brief/1"
MOST_BYTES = 8192
_ROOMY, _NARROW = 120, 40  # bytes of a name; other texts have twice as many
_LEAST_ROWS = 3  # before names are cut further
_MOST_TEXTS = 3  # of a list of them
_LONGEST_WORD = 256  # of a command: longer ones cannot be cut and are left out


class Part(NamedTuple):
    """The figures and columns by table kept of a question. Rows of sites also keep their names."""

    question: str
    figures: tuple[str, ...]
    tables: Mapping[str, tuple[str, ...]]


PARTS = (
    Part(
        "advice",
        ("is_whole",),
        {
            "advice": (
                "other_sites", "rule", "pattern", "action", "replay_change", "gain_ns", "time_share",
                "gain_bytes", "bytes_share", "confidence", "owner", "page",
            )
        },
    ),
    Part(
        "growth",
        ("growth_bytes_per_s",),
        {
            "sites": (
                "slope_bytes_per_s", "is_sure", "kind", "leak_sign", "bytes_at_begin", "bytes_at_end",
                "blocks_at_begin", "blocks_at_end",
            )
        },
    ),
    Part(
        "leaks",
        ("live_at", "live_bytes", "live_blocks"),
        {
            "signs": ("live_bytes", "live_blocks", "confidence"),
            "sites": ("live_bytes", "share", "live_blocks"),
        },
    ),
    Part(
        "cause",
        (
            "verdict", "unknown_because", "cause", "lasted_ns", "resident_bytes", "free_bytes",
            "trimmable_bytes",
        ),
        {
            "kinds": ("bytes", "kind"),
            "remedies": ("bytes", "helps", "kind", "what"),
            "sites": ("pinned_bytes", "held_bytes", "blocks", "saves_least_bytes", "separates"),
        },
    ),
    Part(
        "slow_calls",
        ("calls_over", "duration_ns"),
        {
            "causes": ("duration_ns", "calls", "function", "cause", "evidence"),
            "patterns": ("duration_ns", "evidence", "remedy"),
        },
    ),
    Part("peak", ("time_ns",), {"sites": ("live_bytes", "share", "live_blocks")}),
    Part("calls", ("allocations",), {"sites": ("allocations", "share", "mean_lifetime_ns")}),
    Part("time", ("share",), {"sites": ("time_ns", "share")}),
    Part("temporaries", ("share",), {"sites": ("temporaries", "share_of_site")}),
    Part("realloc", ("copied_bytes",), {"sites": ("copied_bytes", "chains", "steps")}),
    Part("mappings", ("mapped_bytes",), {"sites": ("mapped_bytes", "at_end_bytes")}),
)  # fmt: skip

# Of the summary: names, and the fields kept of an object.
SUMMARY: Mapping[str, tuple[str, ...]] = {
    "program": (),
    "process_id": (),
    "allocator": (),
    "duration_ns": (),
    "end": ("text",),
    "threads": (),
    "completeness": ("is_complete", "covers_whole_run", "reasons", "cut_stacks"),
    "is_filtered": (),
    "sample_mean_bytes": (),
    "notes": (),
    "totals": ("allocations", "requested_bytes", "releases", "reallocs", "allocator_ns", "mapped_bytes"),
    "peak": ("time_ns", "live_bytes", "live_blocks"),
    "temporaries": (),
    "live_at": (),
    "live_at_end_bytes": (),
    "live_at_end_blocks": (),
    "allocation_latency": ("p50_ns", "p99_ns", "max_ns"),
    "allocator_share": (),
    "findings": (),
}


def shortened(document: Answer) -> Answer:
    """The brief form of explain's output: at most MOST_BYTES of JSON on one line, for any trace."""
    found: Answer = {}
    for rows, width in _sizes(document):
        found = _of_size(document, rows, width)
        if len(json.dumps(found)) <= MOST_BYTES:
            break
    return found


def _sizes(document: Answer) -> Iterator[tuple[int, int]]:
    """Rows of a table and bytes of a name, best first."""
    tables = [table for answer in document["questions"].values() for table in answer.values()]
    most = max((len(table) for table in tables if isinstance(table, list)), default=0)
    yield from ((rows, _ROOMY) for rows in range(most, _LEAST_ROWS - 1, -1))
    yield from ((rows, _NARROW) for rows in range(min(most, _LEAST_ROWS), -1, -1))


def _of_size(document: Answer, rows: int, width: int) -> Answer:
    summary = {name: _fields(document["summary"][name], kept) for name, kept in SUMMARY.items()}
    questions = document["questions"]
    answers = {
        part.question: _answer(part, questions[part.question], rows)
        for part in PARTS
        if part.question in questions
    }
    return {
        "schema": SCHEMA,
        "file": cut(document["file"], 2 * _LONGEST_WORD),
        "summary": _cut_all(summary, width),
        "questions": _cut_all(answers, width),
        "next": _next(document),
    }


def _answer(part: Part, answer: Answer, rows: int) -> Answer:
    if "not_answered" in answer:
        return answer
    tables = {
        table: [_fields(row, ("name", *columns)) for row in answer[table][:rows]]
        for table, columns in part.tables.items()
    }
    return {**_fields(answer, part.figures), **tables}


def _fields(value: Any, names: Sequence[str]) -> Any:
    """An object's fields of these names, in this order, with their intervals; without names all fields."""
    if not names:
        return value
    found = {name: value[name] for name in names if name in value}
    intervals = {name: value["intervals"][name] for name in names if name in value.get("intervals", {})}
    return {**found, "intervals": intervals} if intervals else found


def _cut_all(value: Any, width: int, key: str = "") -> Any:
    if isinstance(value, str) and key == "replay_change":
        return value if len(json.dumps(value)) <= _LONGEST_WORD else ""
    if isinstance(value, str):
        return cut(value, width if key == "name" else 2 * width)
    if isinstance(value, list):
        most = _MOST_TEXTS if value and isinstance(value[0], str) else len(value)
        return [_cut_all(one, width, key) for one in value[:most]]
    if isinstance(value, dict):
        return {name: _cut_all(one, width, name) for name, one in value.items()}
    return value


def cut(text: str, most_bytes: int) -> str:
    """Cuts the middle out to fit this many bytes of JSON between quotes.

    >>> cut("parse_everything", 13)
    'pars…ing'
    """
    shown, kept = text, len(text)
    while len(json.dumps(shown)) - 2 > most_bytes:
        kept = min(kept - 1, most_bytes)
        shown = f"{text[: kept - kept // 2]}…{text[len(text) - kept // 2 :]}"
    return shown


def _next(document: Answer) -> list[str]:
    """Commands to run next: to measure a change's gain, or to show more of the first findings."""
    file = shlex.quote(document["file"])
    if len(json.dumps(file)) > _LONGEST_WORD:
        file = "FILE"
    advice = document["questions"].get("advice", {}).get("advice", [])
    changes = [row["replay_change"] for row in advice if row["replay_change"]]
    found = [
        f"heapwright replay {file} --change {shlex.quote(change)} --json"
        for change in changes
        if len(json.dumps(change)) <= _LONGEST_WORD
    ][:2]
    asked = dict.fromkeys(finding["question"] for finding in document["summary"]["findings"])
    return found + [f"heapwright explain {file} --question {name} --json" for name in list(asked)[:2]]
