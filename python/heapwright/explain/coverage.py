# SPDX-License-Identifier: MIT
"""Which part of the run the report covers, and what is known of blocks at its edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from heapwright.report import units

if TYPE_CHECKING:
    from heapwright.explain.report import Answer, Report

_SHOWN_SPANS = 3

AT_END, AT_STOP, AT_WINDOW_END, WHEN_TAKEN = "end", "recording_stopped", "window_end", "taken"
MOMENTS = (AT_END, AT_STOP, AT_WINDOW_END, WHEN_TAKEN)
_WHEN = {
    AT_END: "at the end",
    AT_STOP: "when recording stopped",
    AT_WINDOW_END: "at the window's end",
    WHEN_TAKEN: "when it was taken",
}
STILL_RUNNING = "still_running"  # of End.reason
_ENDS_WITH_PROCESS = ("exited", "killed", "replaced")


def record(report: Report) -> Answer:
    """The completeness with its coverage, as plain data."""
    completeness, coverage = report.facts.completeness, report.facts.coverage
    return {
        "is_complete": completeness.is_complete,
        "covers_whole_run": coverage.is_whole_run,
        "coverage": [span._asdict() for span in coverage.spans],
        "dropped": completeness.dropped,
        "sequence_gaps": completeness.sequence_gaps,
        "reasons": list(completeness.reasons),
        "cut_stacks": [
            *report.trace.cut_stacks(report.facts).lines(),
            *report.trace.unnamed_code(report.facts),
        ],
    }


def live_at(report: Report) -> str:
    """The moment of "live at the end": the process's end only if that was recorded."""
    end_ns = report.trace.end.time_ns
    if report.chosen.to_ns < end_ns:
        return AT_WINDOW_END
    if report.trace.end.reason == STILL_RUNNING:
        return WHEN_TAKEN
    return AT_END if report.facts.coverage.has_end else AT_STOP


def when(moment: str) -> str:
    """The moment in words.

    >>> when(AT_STOP)
    'when recording stopped'
    """
    return _WHEN[moment]


def sentence(completeness: Answer, end: Answer, which: str) -> str:
    """What the trace covers; "complete" refers only to that; which: calls."""
    if end["reason"] == STILL_RUNNING:
        covered = spans_in_words(completeness["coverage"])
        return f"covers {covered}: {which} is in the trace, except those of the last second or two"
    if completeness["covers_whole_run"]:
        return f"complete: {which} is in the trace"
    spans = completeness["coverage"]
    if not spans:
        if end["reason"] == "missing":
            return "which part of the run was recorded is not known: the file ends before that is said"
        return "nothing was recorded: recording was always off"
    return f"recorded part of the run: {spans_in_words(spans)}; of that, {which} is in the trace"


def spans_in_words(spans: Sequence[Answer]) -> str:
    """When recording was on, and for how long.

    >>> spans_in_words([{"from_ns": 0, "to_ns": 1000}, {"from_ns": 3000, "to_ns": 4000}])
    '0 ns to 1.00 µs, 3.00 µs to 4.00 µs (2.00 µs)'
    """
    shown = [f"{units.duration(s['from_ns'])} to {units.duration(s['to_ns'])}" for s in spans[:_SHOWN_SPANS]]
    if len(spans) > _SHOWN_SPANS:
        shown.append(units.counted(len(spans) - _SHOWN_SPANS, "more time"))
    covered = sum(span["to_ns"] - span["from_ns"] for span in spans)
    return f"{', '.join(shown)} ({units.duration(covered)})"


def consequence(completeness: Answer, end: Answer, forgotten_before_ns: int = 0) -> str:
    """What it means for the figures that only part of the run was recorded."""
    if end["reason"] == STILL_RUNNING:
        return "blocks live when it was taken may have been freed since"
    if forgotten_before_ns:  # blocks from before are known
        is_to_the_end = end["reason"] in _ENDS_WITH_PROCESS
        return "" if is_to_the_end else "blocks live when recording stopped may have been freed since"
    return (
        "blocks allocated at other times are not counted; those live when recording stopped or "
        "paused may have been freed since"
        if not completeness["covers_whole_run"]
        else ""
    )
