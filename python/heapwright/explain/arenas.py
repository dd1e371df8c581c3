# SPDX-License-Identifier: MIT
"""How many arenas the C library has, estimated from its threads."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import accumulate

from heapwright.explain.report import Report
from heapwright.explain.settings import ARENA_MAX

# A thread passes its arena on shortly after its last recorded call.
_LEAVES_NS = 10_000_000


def arenas_at_most(report: Report, until_ns: int, settings: Mapping[str, str]) -> int:
    """Arenas besides the main heap up to this time: the most threads but the first that allocated at once.

    A thread allocates from one arena, which adds a heap of 64 MiB when one is full; the next new thread
    takes over the arena of a thread that ended. At least 1.
    """
    trace, facts = report.trace, report.facts
    most = (ARENA_MAX.number_in(settings) or sys.maxsize) - 1
    if not trace.coverage.is_whole_run or trace.metadata.is_fork_child or facts.completeness.reasons:
        return max(1, most)
    changes = sorted(
        change
        for thread in trace.threads
        if thread.thread_id != trace.metadata.process_id
        and facts.threads[thread.index].allocations
        and thread.first_ns <= until_ns
        for change in ((thread.first_ns, 1), ((thread.exit_ns or sys.maxsize - _LEAVES_NS) + _LEAVES_NS, -1))
    )
    return max(1, min(most, max(accumulate(by for _, by in changes), default=0)))
