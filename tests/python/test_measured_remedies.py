# SPDX-License-Identifier: MIT
"""What a replay has to see of a remedy for memory."""

from types import SimpleNamespace
from typing import Any

from heapwright.explain import cause
from heapwright.explain.remedy import Remedy
from heapwright.explain.replayed import ReplayedFigure

MEBIBYTE = 1 << 20


def test_less_time_alone_confirms_no_less_memory() -> None:
    """malloc_trim took 29 ms less by chance, and its memory was not known: it fell out of the list."""
    trim = Remedy("trim", "malloc_trim(0)", 18 * MEBIBYTE, "yes", "")
    faster = ReplayedFigure("CPU time", "ns", -29e6, -0.2, "better", "glibc", 1e6)
    unknown = ReplayedFigure("peak", "bytes", -8.0 * MEBIBYTE, -0.4, "unknown", "glibc", 9.0 * MEBIBYTE)
    same = unknown._replace(difference=0.0, verdict="same", resolution=1e5)
    for memory, judged in (
        (unknown, "bound"),
        (same, "refuted"),
        (unknown._replace(verdict="better"), "measured"),
    ):
        report: Any = SimpleNamespace(replayed={trim.what: (faster, memory)}, base_ns=10**9)
        assert cause._judged(report, trim).judged == judged, memory
