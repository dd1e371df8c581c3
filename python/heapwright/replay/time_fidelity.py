# SPDX-License-Identifier: MIT
"""How true a replay's times are: calls of the recorded allocator beside the recording, by function.

A recorded time is that of the call alone, without the recorder's work around it. Off the processor it waited
or was preempted: that is taken out of the sum, where the kernel's records tell. A replayed time is the least
of an operation's runs. What reading the clock takes is taken out of both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from heapwright.model import KIND_NAMES, Trace
from heapwright.replay import changes
from heapwright.replay.figure_words import call_time
from heapwright.report import units

if TYPE_CHECKING:
    from heapwright.model.facts import Facts
    from heapwright.model.trace import FactsReading

# A shape agrees where no percentile is further off than by this factor.
MOST_APART = 1.5
# Functions with less of the recorded time decide nothing.
_LEAST_SHARE = 0.1
_PERCENTILES = ("p50_ns", "p99_ns")
Document = dict[str, Any]


def begin(trace: Trace, *window_ns: int) -> FactsReading | None:
    """Reads the recorded times, beside the caller; None where the recording has not each call's.

    window_ns: from when to when; without: all.
    """
    metadata = trace.metadata
    if not metadata.durations_recorded or metadata.sample_mean_bytes:
        return None
    return trace.begin_plain_facts(*window_ns)


class Recorded(NamedTuple):
    """functions: their recorded times; off_ns: of all these, off the processor; preempted_ns: of that, what
    other processes and threads took. 0 where it is not known.
    """

    functions: list[Document]
    off_ns: int
    preempted_ns: int

    def without_clock(self, clock_ns: float) -> Recorded:
        """A recorded time has one reading of the clock in it; clock_ns: what that takes on this machine."""
        return self._replace(functions=[_without_clock(row, clock_ns) for row in self.functions])


def recorded(facts: Facts) -> Recorded:
    """What they say of the calls' times."""
    functions = [
        {
            "function": KIND_NAMES[row.kind],
            "calls": row.latency.calls,
            "sum_ns": row.latency.sum_ns,
            **{key: getattr(row.latency, key) for key in _PERCENTILES},
        }
        for row in facts.by_kind
        if row.latency.calls
    ]
    preempted_ns = facts.kernel.preempted_ns
    return Recorded(functions, facts.kernel.waited_ns + preempted_ns, preempted_ns)


def _without_clock(row: Document, clock_ns: float) -> Document:
    times = {key: None if row[key] is None else max(row[key] - clock_ns, 0) for key in _PERCENTILES}
    return {**row, "sum_ns": max(row["sum_ns"] - clock_ns * row["calls"], 0), **times}


def compare(recorded: Sequence[Document], replayed: Sequence[Document], off_ns: int = 0) -> Document | None:
    """None where either is not known; functions that only one of them has are left out.

    off_ns: of the recorded time, off the processor. error_ns: how far the sums are apart. tail_factor: by how
    much p99 is off, at most, of the functions that take the time.
    """
    own = {row["function"]: row for row in replayed}
    both = [(row, own[row["function"]]) for row in recorded if row["function"] in own]
    real_ns = sum(real["sum_ns"] for real, _ in both) - off_ns
    if real_ns <= 0:
        return None
    replayed_ns = sum(other["sum_ns"] for _, other in both)
    counted = [(real, other) for real, other in both if real["sum_ns"] >= _LEAST_SHARE * real_ns]
    keys = ("calls", "sum_ns", *_PERCENTILES)
    return {
        "recorded_ns": real_ns,
        "replayed_ns": replayed_ns,
        "relative_error": (replayed_ns - real_ns) / real_ns,
        "error_ns": abs(replayed_ns - real_ns),
        "tail_factor": max((_apart(real, other, "p99_ns") for real, other in counted), default=1.0),
        "is_same_shape": all(_agree(real, other) for real, other in counted),
        "functions": [
            {
                "function": real["function"],
                "recorded": {key: real[key] for key in keys},
                "replayed": {key: other[key] for key in keys},
            }
            for real, other in both
        ],
    }


def _apart(real: Mapping[str, Any], other: Mapping[str, Any], key: str) -> float:
    """By how many times; a percentile that too few calls tell agrees with any."""
    a, b = real[key], other[key]
    return 1.0 if b is None else float(max(a, b) / max(min(a, b), 1))


def _agree(real: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(_apart(real, other, key) <= MOST_APART for key in _PERCENTILES)


def about(document: Mapping[str, Any]) -> list[str]:
    """One line, where it is known."""
    found = document["time_fidelity"]
    if found is None:
        return []
    most = max(found["functions"], key=lambda row: row["recorded"]["sum_ns"])
    line = (
        f"Replayed on {document['reference']} the calls take {units.duration(found['replayed_ns'])} where "
        f"{units.duration(found['recorded_ns'])} were recorded "
        f"({units.signed_percent(found['relative_error'])}); "
        f"{most['function']}: {_percentiles(most['replayed'])}, recorded {_percentiles(most['recorded'])}."
    )
    line += (
        f" Less than {units.duration(found['error_ns'])} of CPU time, or {found['tail_factor']:.1f} times of "
        "p99.9, is no difference (=)."
    )
    if any(changes.leaves_calls_out(candidate["change"]) for candidate in document["candidates"]):
        factor = found["recorded_ns"] / max(found["replayed_ns"], 1)
        line += (
            " A change that leaves calls out is judged by the noise alone where these calls' own times say "
            "the same. How much it gives is not promised: recorded calls take "
            f"{factor:.1f} times the replayed ones."
        )
    if not found["is_same_shape"]:
        line += " The latencies' shape is another one: how large differences in time are is not promised."
    return [line]


def _percentiles(row: Mapping[str, Any]) -> str:
    return " and ".join(
        f"{key.removesuffix('_ns')} {'unknown' if row[key] is None else call_time(row[key])}"
        for key in _PERCENTILES
    )
