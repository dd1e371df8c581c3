# SPDX-License-Identifier: MIT
"""What did recording cost, and how reliable are the figures?"""

from __future__ import annotations

from heapwright.explain.question import Question
from heapwright.explain.report import Answer, Report
from heapwright.report import units, widgets
from heapwright.report.columns import OPEN, Column, Many


class _Cost:
    """Time, memory and disk space used by the recorder, and frames without names."""

    def __init__(self, report: Report) -> None:
        cost, trace = report.facts.recorder, report.trace
        waits = [thread.waited_ns for thread in trace.threads if thread.waited_ns]
        self.calls_ns = cost.calls_ns
        self.waited_ns = cost.waited_ns
        self.waiting_threads = len(waits)
        self.waited_longest_thread_ns = max(waits, default=0)
        self.peak_bytes = cost.peak_bytes
        self.file_bytes = cost.file_bytes
        self.bytes_per_event = cost.file_bytes / max(1, trace.event_count)
        self.self_cost_allocation_ns = trace.metadata.self_cost_allocation_ns
        self.self_cost_release_ns = trace.metadata.self_cost_release_ns
        self.symbol_problems = trace.symbols().problems()


def _show(answer: Answer) -> widgets.RenderableType | None:
    """A few lines."""
    calls = "not measured with samples" if answer["calls_ns"] is None else units.duration(answer["calls_ns"])
    if answer["self_cost_allocation_ns"]:
        allocation, release = answer["self_cost_allocation_ns"], answer["self_cost_release_ns"]
        calls += f" ({allocation} ns per allocation, {release} ns per free)"
    rows = [
        ("time in the hooks", calls),
        ("waited for the collector", waited(answer)),
        ("memory", f"{units.size(answer['peak_bytes'])} resident, including the collector"),
        ("trace", f"{units.size(answer['file_bytes'])}, {answer['bytes_per_event']:.1f} bytes per call"),
    ]
    rows += [("names missing", problem) for problem in answer["symbol_problems"][:3]]
    return widgets.Pairs([(name, widgets.Text(text)) for name, text in rows])


def waited(answer: Answer) -> str:
    """A sum over threads, which may have waited at the same time."""
    total = units.duration(answer["waited_ns"])
    if answer["waiting_threads"] < 2:
        return total
    longest = units.duration(answer["waited_longest_thread_ns"])
    threads = units.counted(answer["waiting_threads"], "thread")
    return f"{total} summed over {threads}, at most {longest} in one"


def _gist(answer: Answer) -> str:
    calls = "" if answer["calls_ns"] is None else f"{units.duration(answer['calls_ns'])} in the calls, "
    memory, file = units.size(answer["peak_bytes"]), units.size(answer["file_bytes"])
    return f"{calls}{memory} of memory, a trace of {file}"


QUESTION = Question(
    "recorder",
    "What recording cost",
    (
        Column("calls_ns", "ns", sampled=OPEN),
        Column("waited_ns", "ns"),
        Column("waiting_threads"),
        Column("waited_longest_thread_ns", "ns"),
        Column("peak_bytes", "bytes"),
        Column("file_bytes", "bytes"),
        Column("bytes_per_event", "number"),
        Column("self_cost_allocation_ns", "ns"),
        Column("self_cost_release_ns", "ns"),
        Column("symbol_problems", Many("text")),
    ),
    prepare=_Cost,
    show=_show,
    gist=_gist,
)
