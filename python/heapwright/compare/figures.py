# SPDX-License-Identifier: MIT
"""The compared figures."""

from __future__ import annotations

from typing import NamedTuple

# How certain a figure of one run is.
EXACT = "exact"  # the same in every run of a deterministic program
LIVE = "live"  # exact, unless thread timing differs
NOISY = "noisy"


class Figure(NamedTuple):
    """One figure of a run, or of a site.

    is_work: grows with the program's work, so that it can be divided by load. less, more: what B does,
    with {} for the amount.
    """

    key: str
    label: str
    unit: str
    kind: str
    less: str
    more: str
    is_work: bool = False
    of_sites: bool = False


FIGURES = (
    Figure(
        *("calls", "allocations", "count", EXACT, "makes {} fewer allocations", "makes {} more allocations"),
        is_work=True,
        of_sites=True,
    ),
    Figure(
        *("bytes", "bytes requested", "bytes", EXACT, "requests {} less", "requests {} more"),
        is_work=True,
        of_sites=True,
    ),
    Figure(
        *("peak_live_bytes", "live at the peak", "bytes", LIVE),
        *("holds {} less at the peak", "holds {} more at the peak"),
        of_sites=True,
    ),
    Figure(
        *("live_at_end_bytes", "live at the end", "bytes", LIVE),
        *("leaves {} less at the end", "leaves {} more at the end"),
        of_sites=True,
    ),
    Figure(
        *("live_at_end_blocks", "blocks at the end", "count", LIVE),
        *("leaves {} fewer blocks at the end", "leaves {} more blocks at the end"),
    ),
    Figure(
        *("resident_peak_bytes", "peak resident", "bytes", NOISY),
        *("has {} less peak resident memory", "has {} more peak resident memory"),
    ),
    Figure(
        *("resident_end_bytes", "resident at the end", "bytes", NOISY),
        *("has {} less resident at the end", "has {} more resident at the end"),
    ),
    Figure(
        *("time_ns", "time in the heap", "ns", NOISY),
        *("spends {} less in heap calls", "spends {} more in heap calls"),
        is_work=True,
        of_sites=True,
    ),
    Figure(
        *("p99_ns", "p99 of allocations", "ns", NOISY),
        *("has a 99th percentile {} shorter", "has a 99th percentile {} longer"),
        of_sites=True,
    ),
)
SITE_FIGURES = tuple(figure for figure in FIGURES if figure.of_sites)
