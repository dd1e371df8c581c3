# SPDX-License-Identifier: MIT
"""The accuracy of a replay's times: calls of the recorded allocator compared to the recording, by function.

A recorded time is that of the call, without the recorder's work around it. Time off the CPU (waiting or
preempted) is subtracted from the sum if the kernel's records have it. A replayed time is the minimum of an
operation's runs. The cost of reading the clock is subtracted from both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from heapwright.model import KIND_NAMES, Trace
from heapwright.replay.figure_words import call_time
from heapwright.replay.result import BothTimes, Document, TimeFidelity, Times
from heapwright.report import units

if TYPE_CHECKING:
    from heapwright.model.facts import Facts
    from heapwright.model.trace import FactsReading

# Shapes agree if no percentile is off by more than this factor.
MOST_APART = 1.5
# Functions with less of the recorded time are ignored.
_LEAST_SHARE = 0.1
_PERCENTILES = ("p50_ns", "p99_ns")


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

    functions: Mapping[str, Times]
    off_ns: int
    preempted_ns: int

    def without_clock(self, clock_ns: float) -> Recorded:
        """A recorded time includes one clock reading; clock_ns: its cost on this machine."""
        own = {function: _without_clock(times, clock_ns) for function, times in self.functions.items()}
        return self._replace(functions=own)


def recorded(facts: Facts) -> Recorded:
    """The accuracy of the calls' times."""
    rows = [(KIND_NAMES[row.kind], row.latency) for row in facts.by_kind if row.latency.calls]
    functions = {name: Times(own.calls, own.sum_ns, own.p50_ns, own.p99_ns) for name, own in rows}
    preempted_ns = facts.kernel.preempted_ns
    return Recorded(functions, facts.kernel.waited_ns + preempted_ns, preempted_ns)


def _without_clock(times: Times, clock_ns: float) -> Times:
    p50_ns, p99_ns = (None if ns is None else max(ns - clock_ns, 0) for ns in (times.p50_ns, times.p99_ns))
    return Times(times.calls, max(times.sum_ns - clock_ns * times.calls, 0), p50_ns, p99_ns)


def compare(
    recorded: Mapping[str, Times], replayed: Mapping[str, Times], off_ns: int = 0
) -> TimeFidelity | None:
    """None if either is not known; functions that only one of them has are left out.

    off_ns: recorded time off the CPU. error_ns: difference of the sums. tail_factor: the largest factor by
    which p99 is off, of the functions that take the time.
    """
    both = [BothTimes(name, real, replayed[name]) for name, real in recorded.items() if name in replayed]
    real_ns = sum(one.recorded.sum_ns for one in both) - off_ns
    if real_ns <= 0:
        return None
    replayed_ns = sum(one.replayed.sum_ns for one in both)
    counted = [one for one in both if one.recorded.sum_ns >= _LEAST_SHARE * real_ns]
    return TimeFidelity(
        real_ns,
        replayed_ns,
        relative_error=(replayed_ns - real_ns) / real_ns,
        error_ns=abs(replayed_ns - real_ns),
        tail_factor=max((_apart(one, "p99_ns") for one in counted), default=1.0),
        is_same_shape=all(_apart(one, key) <= MOST_APART for one in counted for key in _PERCENTILES),
        functions=both,
    )


def _apart(both: BothTimes, key: str) -> float:
    """The factor; a percentile with too few calls agrees with any."""
    a, b = getattr(both.recorded, key), getattr(both.replayed, key)
    return 1.0 if b is None else float(max(a, b) / max(min(a, b), 1))


def about(document: Document) -> list[str]:
    """One line, if known."""
    found = document.time_fidelity
    if found is None:
        return []
    most = max(found.functions, key=lambda one: one.recorded.sum_ns)
    line = (
        f"Replayed on {document.reference} the calls take {units.duration(found.replayed_ns)}, "
        f"recorded {units.duration(found.recorded_ns)} "
        f"({units.signed_percent(found.relative_error)}); "
        f"{most.function}: {_percentiles(most.replayed)}, recorded {_percentiles(most.recorded)}."
    )
    factor = found.recorded_ns / max(found.replayed_ns, 1)
    line += (
        " A difference in CPU time counts beyond the noise of its row if these calls' own times agree; "
        f"otherwise less than {units.duration(found.error_ns)}, and a factor of "
        f"{found.tail_factor:.1f} in p99.9, is no difference. How large it is in the program is not "
        f"certain: recorded calls take {factor:.1f} times the replayed ones."
    )
    if not found.is_same_shape:
        line += " The latency distribution differs: the size of time differences is not reliable."
    return [line]


def _percentiles(times: Times) -> str:
    both = (("p50", times.p50_ns), ("p99", times.p99_ns))
    return " and ".join(f"{name} {'unknown' if ns is None else call_time(ns)}" for name, ns in both)
