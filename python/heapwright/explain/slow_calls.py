# SPDX-License-Identifier: MIT
"""Which single calls took longest, and who waited?"""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from heapwright.explain import parts
from heapwright.explain.question import A_SAMPLED_CALL_IS_SLOW, Question
from heapwright.explain.report import Answer, Finding, Report
from heapwright.explain.tables import sites
from heapwright.model import KIND_NAMES, Site
from heapwright.report import units
from heapwright.report.columns import Column


def _rows(report: Report) -> Iterator[tuple[Site, Any]]:
    """Longest first; of a free without a stack, the site is where the block was allocated."""
    names = {thread.index: thread.name for thread in report.trace.threads}
    for call in report.facts.slowest[: report.top]:
        if call.duration_ns > 0:
            site = report.sites[report.sites.site_of_stack[call.stack]]
            yield site, SimpleNamespace(**call._asdict(), thread_name=names.get(call.thread, ""))


def _findings(answer: Answer) -> list[Finding]:
    """A call that a person would notice."""
    for call in answer["calls"][:1]:
        if call["duration_ns"] >= 1_000_000:
            text = (
                f"one {call['kind']} of {units.size(call['size_bytes'])} took "
                f"{units.duration(call['duration_ns'])} in {call['name']}"
            )
            is_free = call["kind"] == "free" or call["kind"].startswith("operator delete")
            answers = parts.SLOW_FREES if is_free else ()
            return [Finding(min(0.5, call["duration_ns"] / 1e8), text, parts=answers)]
    return []


QUESTION = Question(
    "slow_calls",
    "Slowest calls",
    tables=(
        sites(
            Column("duration_ns", "ns", "time"),
            Column("kind", "word", "call", lambda call, _: KIND_NAMES[call.kind]),
            Column("size_bytes", "bytes", "size"),
            Column("begin_ns", "ns", "at"),
            Column(
                "thread_name",
                "text",
                "thread",
                text=lambda call, _: f"{call['thread_name']} #{call['thread']}",
            ),
            Column("thread"),
            Column("stack"),
            rows=_rows,
            key="calls",
        ),
    ),
    findings=_findings,
    unsampled=A_SAMPLED_CALL_IS_SLOW,
)
