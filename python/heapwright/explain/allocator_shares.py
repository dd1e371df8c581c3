# SPDX-License-Identifier: MIT
"""Whose a block is where two allocators' calls were recorded: the one inside or the libraries'."""

from __future__ import annotations

from heapwright.explain.report import Answer, Report
from heapwright.model.inner_allocator import allocators_of, inner_of
from heapwright.report import units
from heapwright.report.columns import Column

_LIVE = ("live_at_peak_bytes", "live_at_peak_blocks", "live_at_end_bytes", "live_at_end_blocks")
_FACTS = (*_LIVE, "allocations", "bytes")
_NAMES = (*_LIVE, "allocations", "requested_bytes")
SHARES = (
    Column("allocator", "text"),
    *(Column(name, "bytes") if name.endswith("bytes") else Column(name) for name in _NAMES),
)


def shares_of(report: Report) -> list[Answer]:
    """One of each allocator; empty if there is one, if calls were sampled, or if names are missing.

    Linear in the number of stacks.
    """
    metadata = report.trace.metadata
    inside = inner_of(metadata)
    if not inside or metadata.sample_mean_bytes or not report.trace.frames_inside:
        return []
    sums = _sums(report)
    return [
        {"allocator": name, **dict(zip(_NAMES, sums[name == inside], strict=True))}
        for name in allocators_of(metadata)
    ]


def in_words(shares: list[Answer]) -> str:
    """What each held at the peak.

    >>> in_words([{"allocator": "jemalloc inside (je_malloc)", "live_at_peak_bytes": 2048}])
    'jemalloc inside (je_malloc) 2.00 KiB'
    """
    return ", ".join(
        f"{one['allocator'].partition(' (/')[0]} {units.size(one['live_at_peak_bytes'])}" for one in shares
    )


def _sums(report: Report) -> list[list[int]]:
    """Of the libraries' allocator, and of the one inside."""
    sums, inside = [[0] * len(_FACTS), [0] * len(_FACTS)], report.trace.frames_inside
    columns = (report.facts.stacks[name].tolist() for name in _FACTS)
    for frame, values in zip(report.trace.stack_columns["frame"], zip(*columns, strict=True), strict=True):
        if any(values):
            of = sums[frame in inside]
            of[:] = map(int.__add__, of, values)
    return sums
