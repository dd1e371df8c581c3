# SPDX-License-Identifier: MIT
"""Figures that can be limited, and for what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

PROGRAM, SITE, THREAD, PHASE, SCOPE = "program", "site", "thread", "phase", "scope"
KINDS = (PROGRAM, SITE, THREAD, PHASE, SCOPE)

# How certain a figure of one run is.
EXACT = "exact"  # the same in every run of a deterministic program
LIVE = "live"  # exact, unless thread timing differs
NOISY = "noisy"


class Limited(NamedTuple):
    """A figure that can be limited; kinds: for what."""

    label: str
    unit: str
    certainty: str
    kinds: tuple[str, ...] = (PROGRAM, SITE, THREAD)


FIGURES: Mapping[str, Limited] = {
    "calls": Limited("allocations", "count", EXACT, KINDS),
    "bytes": Limited("bytes requested", "bytes", EXACT, KINDS),
    "calls_per_run": Limited("allocations of one run", "count", EXACT, (PHASE,)),
    "bytes_per_run": Limited("bytes of one run", "bytes", EXACT, (PHASE,)),
    "peak_live_bytes": Limited("live at its peak", "bytes", LIVE, KINDS),
    "live_at_end_bytes": Limited("live at the end", "bytes", LIVE, KINDS),
    "live_at_end_blocks": Limited("blocks at the end", "count", LIVE, KINDS),
    "lost_bytes": Limited("lost", "bytes", LIVE, (PROGRAM, SITE)),
    "lost_blocks": Limited("blocks lost", "count", LIVE, (PROGRAM, SITE)),
    "resident_peak_bytes": Limited("peak resident", "bytes", NOISY, (PROGRAM,)),
    "growth_bytes_per_s": Limited("growth", "bytes_per_s", NOISY, KINDS),
    "p50_ns": Limited("median time of an allocation", "ns", NOISY, KINDS),
    "p99_ns": Limited("99th percentile of allocations", "ns", NOISY, KINDS),
    "p999_ns": Limited("99.9th percentile of allocations", "ns", NOISY, KINDS),
}
LOST = ("lost_bytes", "lost_blocks")  # need a snapshot
TIMES = ("p50_ns", "p99_ns", "p999_ns")
