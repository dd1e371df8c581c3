# SPDX-License-Identifier: MIT
"""Which threads use the heap?"""

from __future__ import annotations

from types import SimpleNamespace

from heapwright.explain.question import Question
from heapwright.explain.report import Answer, Report
from heapwright.report import units
from heapwright.report.columns import OPEN, Column, Table


def _rows(report: Report) -> list[SimpleNamespace]:
    """What the trace and the facts know of each thread, most calls first."""
    pairs = zip(report.trace.threads, report.facts.threads, strict=False)
    rows = [SimpleNamespace(**thread._asdict(), **facts._asdict()) for thread, facts in pairs]
    rows.sort(key=lambda row: -(row.allocations + row.releases))
    return rows[: report.top]


def _gist(answer: Answer) -> str:
    rows = answer["threads"]
    most = max(rows, key=lambda row: row["bytes"], default=None)
    if most is None or answer["count"] < 2:
        return ""
    name = f"{most['name']} #{most['thread']}"
    return f"{units.counted(answer['count'], 'thread')}; {name} allocates most, {units.size(most['bytes'])}"


# Threads are shown, not judged: there are no findings.
QUESTION = Question(
    "threads",
    "Threads",
    (Column("count", value=lambda report, _: len(report.trace.threads)),),
    (
        Table(
            "threads",
            (
                Column("name", "text", "thread", text=lambda row, _: f"{row['name']} #{row['thread']}"),
                Column("thread", value="index"),
                Column("thread_id"),
                Column("first_ns", "ns"),
                Column("exit_ns", "ns"),
                Column("allocations", "count", "allocations", sampled="allocations"),
                Column("releases", "count", "frees", sampled=OPEN),
                Column("bytes", "bytes", "bytes", sampled="bytes"),
                Column("peak_live_bytes", "bytes", "own peak", sampled=OPEN),
                Column("allocator_ns", "ns", "allocator", sampled=OPEN),
                Column("temporaries", sampled=OPEN),
                Column("dropped"),
            ),
            _rows,
        ),
    ),
    gist=_gist,
)
