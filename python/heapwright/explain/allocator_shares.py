# SPDX-License-Identifier: MIT
"""Whose a block is where two allocators' calls were recorded: the one inside or the libraries'."""

from __future__ import annotations

from heapwright.explain.report import Answer, Report
from heapwright.model.sites import MARKS
from heapwright.model.trace import Trace
from heapwright.report import units
from heapwright.report.columns import Column

# The condition with the allocator that metadata does not name first (src/trace/records.hpp).
BESIDE = "beside"

_LIVE = ("live_at_peak_bytes", "live_at_peak_blocks", "live_at_end_bytes", "live_at_end_blocks")
_FACTS = (*_LIVE, "allocations", "bytes")
_NAMES = (*_LIVE, "allocations", "requested_bytes")
_FAMILY = frozenset("malloc calloc realloc memalign posix_memalign aligned_alloc valloc pvalloc".split())
SHARES = (
    Column("allocator", "text"),
    *(Column(name, "bytes") if name.endswith("bytes") else Column(name) for name in _NAMES),
)


def shares_of(report: Report) -> list[Answer]:
    """One of each allocator; empty if there is one, if calls were sampled, or if names are missing.

    Linear in the number of stacks.
    """
    metadata = report.trace.metadata
    other = metadata.condition_values.get(BESIDE, "")
    if not other or metadata.sample_mean_bytes:
        return []
    names = (metadata.allocator, other)
    inside = next((name for name in names if " inside" in name), "the program's own malloc")
    frames = _frames_inside(report.trace, inside) if inside in names else set()
    if not frames:
        return []
    sums = _sums(report, frames)
    return [{"allocator": name, **dict(zip(_NAMES, sums[name == inside], strict=True))} for name in names]


def in_words(shares: list[Answer]) -> str:
    """What each held at the peak.

    >>> in_words([{"allocator": "jemalloc inside (je_malloc)", "live_at_peak_bytes": 2048}])
    'jemalloc inside (je_malloc) 2.00 KiB'
    """
    return ", ".join(
        f"{one['allocator'].partition(' (/')[0]} {units.size(one['live_at_peak_bytes'])}" for one in shares
    )


def _sums(report: Report, frames: set[int]) -> list[list[int]]:
    """Of the libraries' allocator, and of the one inside."""
    sums = [[0] * len(_FACTS), [0] * len(_FACTS)]
    columns = (report.facts.stacks[name].tolist() for name in _FACTS)
    for frame, values in zip(report.trace.stack_columns["frame"], zip(*columns, strict=True), strict=True):
        if any(values):
            of = sums[frame in frames]
            of[:] = map(int.__add__, of, values)
    return sums


def _frames_inside(trace: Trace, allocator: str) -> set[int]:
    """Of the functions of the allocator inside, with which the recorder begins its stacks."""
    function = allocator.partition(" (")[2].removesuffix(")")
    program = trace.metadata.program.rsplit("/", 1)[-1]
    symbols = trace.symbols()
    return {
        frame
        for frame in set(trace.stack_columns["frame"][1:])
        if frame not in MARKS
        and symbols.library(frame) == program
        and _is_of(symbols.locations(frame)[-1].function, function.removesuffix("malloc"))
    }


def _is_of(function: str, prefix: str) -> bool:
    """
    >>> _is_of("_rjem_mallocx", "_rjem_"), _is_of("palloc", ""), _is_of("valloc", "")
    (True, False, True)
    """
    return function.startswith(prefix) if prefix else function in _FAMILY
