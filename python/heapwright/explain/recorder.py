# SPDX-License-Identifier: MIT
"""What did recording cost, and how far can the figures be trusted?"""

from __future__ import annotations

from heapwright.explain import look
from heapwright.explain.report import Answer, Finding, Report
from heapwright.report import units

NAME = "recorder"
TITLE = "What recording cost"


def answer(report: Report) -> Answer:
    """Time, memory and disk the recorder took, and frames without names."""
    cost, metadata = report.facts.recorder, report.trace.metadata
    waits = [thread.waited_ns for thread in report.trace.threads if thread.waited_ns]
    return {
        "calls_ns": cost.calls_ns,
        "waited_ns": cost.waited_ns,
        "waiting_threads": len(waits),
        "waited_longest_thread_ns": max(waits, default=0),
        "peak_bytes": cost.peak_bytes,
        "file_bytes": cost.file_bytes,
        "bytes_per_event": cost.file_bytes / max(1, report.trace.event_count),
        "self_cost_allocation_ns": metadata.self_cost_allocation_ns,
        "self_cost_release_ns": metadata.self_cost_release_ns,
        "symbol_problems": report.trace.symbols().problems(),
    }


def show(answer: Answer) -> look.RenderableType | None:
    """A few lines."""
    calls = "not measured with samples" if answer["calls_ns"] is None else units.duration(answer["calls_ns"])
    if answer["self_cost_allocation_ns"]:
        allocation, release = answer["self_cost_allocation_ns"], answer["self_cost_release_ns"]
        calls += f" ({allocation} ns an allocation, {release} ns a free)"
    rows = [
        ("time in the hooks", calls),
        ("waited for the collector", waited(answer)),
        ("memory", f"{units.size(answer['peak_bytes'])} resident, the collector included"),
        ("trace", f"{units.size(answer['file_bytes'])}, {answer['bytes_per_event']:.1f} bytes a call"),
    ]
    rows += [("names missing", problem) for problem in answer["symbol_problems"][:3]]
    return look.Pairs([(name, look.Text(text)) for name, text in rows])


def waited(answer: Answer) -> str:
    """A sum over threads, which waited at the same time."""
    total = units.duration(answer["waited_ns"])
    if answer["waiting_threads"] < 2:
        return total
    longest = units.duration(answer["waited_longest_thread_ns"])
    threads = units.counted(answer["waiting_threads"], "thread")
    return f"{total} summed over {threads}, at most {longest} in one"


def findings(answer: Answer) -> list[Finding]:
    """The recorder is not the program."""
    return []
