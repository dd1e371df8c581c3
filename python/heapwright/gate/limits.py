# SPDX-License-Identifier: MIT
"""What can be limited, and of what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

PROGRAM, SITE, THREAD, PHASE, SCOPE = "program", "site", "thread", "phase", "scope"
KINDS = (PROGRAM, SITE, THREAD, PHASE, SCOPE)

# How sure a figure of one run is.
EXACT = "exact"  # a program that does the same has the same
LIVE = "live"  # so, unless threads meet differently
NOISY = "noisy"


class Limited(NamedTuple):
    """A figure that a limit can be given for; kinds: of what."""

    label: str
    unit: str
    certainty: str
    kinds: tuple[str, ...] = (PROGRAM, SITE, THREAD)


FIGURES: Mapping[str, Limited] = {
    "calls": Limited("allocations", "count", EXACT, KINDS),
    "bytes": Limited("bytes asked for", "bytes", EXACT, KINDS),
    "calls_per_run": Limited("allocations of one run", "count", EXACT, (PHASE,)),
    "bytes_per_run": Limited("bytes of one run", "bytes", EXACT, (PHASE,)),
    "peak_live_bytes": Limited("live at its peak", "bytes", LIVE, KINDS),
    "live_at_end_bytes": Limited("live at the end", "bytes", LIVE, KINDS),
    "live_at_end_blocks": Limited("blocks at the end", "count", LIVE, KINDS),
    "resident_peak_bytes": Limited("resident at the most", "bytes", NOISY, (PROGRAM,)),
    "growth_bytes_per_s": Limited("growth", "bytes_per_s", NOISY, KINDS),
    "p50_ns": Limited("median time of an allocation", "ns", NOISY, KINDS),
    "p99_ns": Limited("99th percentile of allocations", "ns", NOISY, KINDS),
    "p999_ns": Limited("99.9th percentile of allocations", "ns", NOISY, KINDS),
}
TIMES = ("p50_ns", "p99_ns", "p999_ns")
