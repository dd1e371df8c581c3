# SPDX-License-Identifier: MIT
"""Whether a recording holds every call of a whole run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heapwright.model.trace import Trace


_CUT_BY = {
    "size_limit": "its size limit (--max-size, --room)",
    "duration_limit": "its time limit (--duration)",
    "write_failed": "a write that failed",
    "stopped": "a request to stop",
    "recorder_lost": "the recorder's end: heapwright-attach was killed",
    "still_running": "the moment it was taken, while its program ran",
}


def why_not_whole(trace: Trace) -> list[str]:
    """What makes figures of this recording untrue, each with its consequence."""
    reasons = []
    metadata, end = trace.metadata, trace.end
    if metadata.sample_mean_bytes:
        reasons.append(
            f"it is a sample (one block per {metadata.sample_mean_bytes} bytes): most calls are not in it; "
            "record without --sample"
        )
    if end.reason == "missing" or trace.damage or trace.damaged_chunks:
        reasons.append("it is cut or damaged: calls are missing; record it again")
    if end.dropped:
        reasons.append(f"{end.dropped} calls were not written; record it again")
    reasons += metadata.unseen
    if metadata.is_fork_child:
        reasons.append("it is a fork's: the blocks from before the fork are not in it")
    if end.reason in _CUT_BY:
        reasons.append(f"it is cut by {_CUT_BY[end.reason]}: later calls are not in it; record the whole run")
    if forgotten := forgotten_in_words(metadata.forgotten_before_ns):
        return [*reasons, forgotten]
    covered = trace.coverage
    is_cut = end.reason == "missing" or end.reason in _CUT_BY
    if not covered.is_whole_run and not (is_cut and covered.has_start and not covered.pauses):
        reasons.append("it is a part of a run: what lived before is not in it; record from the start")
    return reasons


def forgotten_in_words(before_ns: int) -> str:
    """What of a recording that goes on for ever is not known any more; empty: it has everything.

    >>> forgotten_in_words(60 * 10**9).partition(" (")[0]
    'calls of the first 60.0 s were forgotten'
    """
    if not before_ns:
        return ""
    return (
        f"calls of the first {before_ns / 1e9:.1f} s were forgotten (count --room): of what was allocated "
        "then only what lived on is known; totals and rates are of the time since"
    )


def in_words(lost: Sequence[str]) -> str:
    """Why calls are missing, in one line; empty: none are.

    >>> in_words(["2 calls were dropped"])
    'INCOMPLETE RECORDING: 2 calls were dropped'
    """
    return f"INCOMPLETE RECORDING: {'; '.join(lost)}" if lost else ""


def how_it_failed(trace: Trace) -> str:
    """How the program ended, where that was no success; empty: nothing is wrong, or not known."""
    end = trace.end
    if end.reason == "killed":
        return f"its program was killed by signal {end.status}"
    if end.reason == "exited" and end.status > 0:
        return f"its program failed with exit code {end.status}"
    return ""
