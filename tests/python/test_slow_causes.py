# SPDX-License-Identifier: MIT
"""What is said of slow calls that one cause explains."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from heapwright.explain import slow_causes
from heapwright.model.facts import SlowCall, SlowCalls

MS = 1_000_000


def zeros(of: Any, **fields: Any) -> Any:
    return of(*([0] * len(of._fields)))._replace(**fields)


class NoSites:
    """One stack, which is none."""

    site_of_stack = (0,)

    def __getitem__(self, number: int) -> Any:
        return None


def test_a_call_that_was_preempted_is_not_the_longest_that_merged() -> None:
    """Of python3 with eight threads: "a free that took 16.1 ms, came after some 7,425 frees"; 15 off the CPU."""
    merged = {"work": slow_causes.CONSOLIDATION}
    calls = [
        zeros(
            SlowCall, duration_ns=16 * MS, preempted_ns=15 * MS, waited_ns=MS // 2, small_frees=7, **merged
        ),
        zeros(SlowCall, duration_ns=3 * MS, small_frees=2000, **merged),
        zeros(SlowCall, duration_ns=9 * MS, work=slow_causes.TRIMMING),
    ]
    sums = [
        zeros(SlowCalls, calls=3, duration_ns=24 * MS, descheduled_ns=15 * MS, longest_ns=5 * MS, **merged)
    ]
    facts = SimpleNamespace(slowest=calls, slow_calls=sums)
    report: Any = SimpleNamespace(facts=facts, sites=NoSites())
    (found,) = slow_causes._consolidation(report)
    assert (found.duration_ns, found.longest_ns) == (9 * MS, 5 * MS)
    assert "each in up to 5.00 ms" in found.evidence  # by all calls, not by the slowest that are listed
    assert "in 3.00 ms, came after about 2,000 frees" in found.evidence
