# SPDX-License-Identifier: MIT
"""The accuracy of a replay's times: calls of the recorded allocator compared to the recording, by function.

A recorded time is that of the call, without the recorder's work around it. Time off the CPU (waiting or
preempted) is subtracted from the sum if the kernel's records have it. A replayed time is the minimum of an
operation's runs. The cost of reading the clock is subtracted from both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from heapwright.model import KIND_NAMES, Trace
from heapwright.replay.figure_words import call_time
from heapwright.report import units

if TYPE_CHECKING:
    from heapwright.model.facts import Facts
    from heapwright.model.trace import FactsReading

# Shapes agree if no percentile is off by more than this factor.
MOST_APART = 1.5
# Functions with less of the recorded time are ignored.
_LEAST_SHARE = 0.1
_PERCENTILES = ("p50_ns", "p99_ns")
Document = dict[str, Any]


def begin(trace: Trace, *window_ns: int) -> FactsReading | None:
    """Reads the recorded times concurrently; None if the recording does not have every call's.

    window_ns: begin and end; without: all.
    """
    metadata = trace.metadata
    if not metadata.durations_recorded or metadata.sample_mean_bytes:
        return None
    return trace.begin_plain_facts(*window_ns)


class Recorded(NamedTuple):
    """functions: their recorded times; off_ns: the part off the CPU; preempted_ns: the preempted part of
    that. 0 if not known.
    """

    functions: list[Document]
    off_ns: int
    preempted_ns: int

    def without_clock(self, clock_ns: float) -> Recorded:
        """A recorded time includes one clock reading; clock_ns: its cost on this machine."""
        return self._replace(functions=[_without_clock(row, clock_ns) for row in self.functions])


def recorded(facts: Facts) -> Recorded:
    """The accuracy of the calls' times."""
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
    """None if either is not known; functions that only one of them has are left out.

    off_ns: recorded time off the CPU. error_ns: difference of the sums. tail_factor: the largest factor by
    which p99 is off, of the functions that take the time.
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
    """The factor; a percentile with too few calls agrees with any."""
    a, b = real[key], other[key]
    return 1.0 if b is None else float(max(a, b) / max(min(a, b), 1))


def _agree(real: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(_apart(real, other, key) <= MOST_APART for key in _PERCENTILES)


def about(document: Mapping[str, Any]) -> list[str]:
    """One line, if known."""
    found = document["time_fidelity"]
    if found is None:
        return []
    most = max(found["functions"], key=lambda row: row["recorded"]["sum_ns"])
    line = (
        f"Replayed on {document['reference']} the calls take {units.duration(found['replayed_ns'])}, "
        f"recorded {units.duration(found['recorded_ns'])} "
        f"({units.signed_percent(found['relative_error'])}); "
        f"{most['function']}: {_percentiles(most['replayed'])}, recorded {_percentiles(most['recorded'])}."
    )
    factor = found["recorded_ns"] / max(found["replayed_ns"], 1)
    line += (
        " A difference in CPU time counts beyond the noise of its row if these calls' own times agree; "
        f"otherwise less than {units.duration(found['error_ns'])}, and a factor of "
        f"{found['tail_factor']:.1f} in p99.9, is no difference. How large it is in the program is not "
        f"certain: recorded calls take {factor:.1f} times the replayed ones."
    )
    if not found["is_same_shape"]:
        line += " The latency distribution differs: the size of time differences is not reliable."
    return [line]


def _percentiles(row: Mapping[str, Any]) -> str:
    return " and ".join(
        f"{key.removesuffix('_ns')} {'unknown' if row[key] is None else call_time(row[key])}"
        for key in _PERCENTILES
    )
