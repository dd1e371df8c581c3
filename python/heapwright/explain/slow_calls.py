# SPDX-License-Identifier: MIT
"""Which single calls took longest, and who waited?"""

from __future__ import annotations

from heapwright.explain import look, tables
from heapwright.explain.report import Answer, Finding, Report, site_record
from heapwright.model import KIND_NAMES
from heapwright.report import units

NAME = "slow_calls"
TITLE = "Slowest calls"


def answer(report: Report) -> Answer:
    """The slowest calls with their stacks' sites."""
    names = {thread.index: thread.name for thread in report.trace.threads}
    return {
        "calls": [
            {
                **site_record(report.sites[report.sites.site_of_stack[call.stack]]),
                "begin_ns": call.begin_ns,
                "duration_ns": call.duration_ns,
                "kind": KIND_NAMES[call.kind],
                "thread": call.thread,
                "thread_name": names.get(call.thread, ""),
                "stack": call.stack,
                "size_bytes": call.size_bytes,
            }
            for call in report.facts.slowest[: report.top]
            if call.duration_ns > 0
        ]
    }


def show(answer: Answer) -> look.RenderableType | None:
    """Longest first; for a free without a stack, the site is where the block was allocated."""
    if not answer["calls"]:
        return None
    return tables.plain(
        ("time", "call", "size", "at", "thread", "call site"),
        [
            (
                units.duration(call["duration_ns"]),
                call["kind"],
                units.size(call["size_bytes"]),
                units.duration(call["begin_ns"]),
                f"{call['thread_name']} #{call['thread']}",
                call["name"],
            )
            for call in answer["calls"]
        ],
        text_columns=(4, 5),
        left_columns=(1,),
    )


def findings(answer: Answer) -> list[Finding]:
    """A call that a person would notice."""
    for call in answer["calls"][:1]:
        if call["duration_ns"] >= 1_000_000:
            text = (
                f"one {call['kind']} of {units.size(call['size_bytes'])} took "
                f"{units.duration(call['duration_ns'])} in {call['name']}"
            )
            return [Finding(min(0.5, call["duration_ns"] / 1e8), text, NAME)]
    return []
