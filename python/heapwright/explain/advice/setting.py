# SPDX-License-Identifier: MIT
"""A setting of the C library's allocator that makes large blocks expensive."""

from __future__ import annotations

from collections.abc import Iterator

from heapwright.explain.advice.evidence import Evidence
from heapwright.explain.advice.rule import HIGH, Advice, Rule
from heapwright.explain.allocators import Allocator
from heapwright.explain.mapped_blocks import are_mapped
from heapwright.explain.settings import (
    FIRST_MMAP_THRESHOLD,
    FIXES_THRESHOLD,
    HIGHEST_MMAP_THRESHOLD,
    MMAP_THRESHOLD,
    keeping,
    takes_any_threshold,
    thresholds,
    thresholds_replayed,
)
from heapwright.report import units

_LEAST_CALLS = 100


def _find(of: Evidence) -> Iterator[Advice]:
    if not of.is_glibc or not of.has_times:
        return
    allocator = of.report.allocator
    fixed, from_bytes = allocator.fixing_settings, _threshold(allocator)
    sites = [
        site
        for site in of.candidates(_LEAST_CALLS)
        if of.has_percentiles(site) and of.sizes(site).p50_bytes >= from_bytes and are_mapped(of.site(site))
    ]
    if not sites:
        return
    largest = of.above_raising(sites)
    is_mapped_anyway = largest > 0 and not takes_any_threshold(allocator.name)
    time_ns = sum(map(of.time_of, sites))
    calls = sum(of.site(site).allocations for site in sites)
    why = (
        f"the threshold is fixed by {' and '.join(fixed)}"
        if fixed
        else "glibc maps each block of 32 MiB or more"
    )
    yield Advice(
        tuple(sites),
        f"{units.count(calls)} blocks, at least half of them of {units.size(from_bytes)} or more: each "
        "costs the kernel a mapping",
        (
            f"{units.duration(time_ns / max(1, calls))} each, made and freed; their first touch of "
            "each page costs extra",
            why,
        ),
        "the calls of these sites and the frees of their blocks",
        HIGH,
        "the blocks are usable to the end of a page, which only mapped ones are",
        time_ns,
        action="keep the buffers: no setting of this C library does"
        if is_mapped_anyway
        else _action(of, largest),
        replay_set=""
        if is_mapped_anyway or any(one.is_by_program(allocator.settings) for one in FIXES_THRESHOLD)
        else thresholds_replayed(*keeping(of.peak_bytes, largest)),
    )


def _action(of: Evidence, largest: int) -> str:
    """Both thresholds, with values for this program."""
    trim, mapped = keeping(of.peak_bytes, largest)
    return (
        f"raise both thresholds: {thresholds(trim, mapped)}, or mallopt(M_TRIM_THRESHOLD, {trim}) and "
        f"mallopt(M_MMAP_THRESHOLD, {mapped}); or remove the setting; or keep the buffers"
    )


def _threshold(allocator: Allocator) -> int:
    """The size from which blocks are mapped, according to the settings."""
    value = MMAP_THRESHOLD.number_in(allocator.settings)
    if value is not None:
        return value
    return FIRST_MMAP_THRESHOLD if allocator.fixes_threshold else HIGHEST_MMAP_THRESHOLD


RULE = Rule(
    "setting",
    "",
    "raise both thresholds; or keep the buffers",
    _find,
    (
        "freed memory must be returned to the kernel at once: only mapped blocks do that",
        "memory is tight: a heap that keeps such blocks may need twice as much",
    ),
    "raise both thresholds; or keep the buffers",
    prelude="""\
#include <malloc.h>
void work();""",
    before="work();  // each block above the threshold: one mmap, one munmap, and new pages",
    after="""\
mallopt(M_MMAP_THRESHOLD, 32 << 20);
mallopt(M_TRIM_THRESHOLD, 512 << 20);
work();""",
    unsampled="sampled calls are slower: their times say nothing about other calls",
)
