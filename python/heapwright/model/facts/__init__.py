# SPDX-License-Identifier: MIT
"""The structs of src/analyze/facts.hpp, where their fields are explained.

Written by src/python_module/fields.py at each build, not by hand.
"""

# Annotations are values here: values.py reads the rows by them.

from typing import NamedTuple

from heapwright.model.facts.calls import ByKind, BySizeClass, CommonSize, SlowCall
from heapwright.model.facts.causes import HeapGrowth, KernelSums, LargeHeapBlocks, SlowCalls
from heapwright.model.facts.coverage import Completeness, Coverage, Span
from heapwright.model.facts.heap_parts import AllocatorOption, HeapPart, PartHolder, ThresholdRaise
from heapwright.model.facts.held import Held, HeldSite, HeldStep, HeldWay, Holder, LiveType, LostSite
from heapwright.model.facts.latency import Latency
from heapwright.model.facts.lifetimes import LifetimeMap
from heapwright.model.facts.mapped_memory import MappedMemory
from heapwright.model.facts.mappings import MappingSite, OwnMoment
from heapwright.model.facts.patterns import CopiedGrowth, EmptiedSite, ReleaseRun
from heapwright.model.facts.processor import Processor, RefaultSite
from heapwright.model.facts.realloc_chains import ReallocChains
from heapwright.model.facts.residency import PinAge, PinSet, PinSite, Residency, ResidentOwner, UntouchedSite
from heapwright.model.facts.series import SeriesRow
from heapwright.model.facts.sites import SiteFacts, SiteSizes
from heapwright.model.facts.spreads import CallSpread, LiveSpread, Spread, Spreads, StepSpread
from heapwright.model.facts.threads import ByThread, CrossThread
from heapwright.model.facts.timeline import TimelinePoint
from heapwright.model.facts.totals import Peak, RecorderCost, Totals
from heapwright.model.values import Columns

__all__ = [
    "AllocatorOption",
    "ByKind",
    "BySizeClass",
    "ByThread",
    "CallSpread",
    "CommonSize",
    "Completeness",
    "CopiedGrowth",
    "Coverage",
    "CrossThread",
    "EmptiedSite",
    "Facts",
    "HeapGrowth",
    "HeapPart",
    "Held",
    "HeldSite",
    "HeldStep",
    "HeldWay",
    "Holder",
    "KernelSums",
    "LargeHeapBlocks",
    "Latency",
    "LifetimeMap",
    "LiveSpread",
    "LiveType",
    "LostSite",
    "MappedMemory",
    "MappingSite",
    "OwnMoment",
    "PartHolder",
    "Peak",
    "PinAge",
    "PinSet",
    "PinSite",
    "Processor",
    "ReallocChains",
    "RecorderCost",
    "RefaultSite",
    "ReleaseRun",
    "Residency",
    "ResidentOwner",
    "SeriesRow",
    "SiteFacts",
    "SiteSizes",
    "SlowCall",
    "SlowCalls",
    "Span",
    "Spread",
    "Spreads",
    "StepSpread",
    "ThresholdRaise",
    "TimelinePoint",
    "Totals",
    "UntouchedSite",
]


class Facts(NamedTuple):
    """All results of an analysis."""

    totals: Totals
    peak: Peak
    by_kind: tuple[ByKind, ...]
    by_size: tuple[BySizeClass, ...]
    common_sizes: tuple[CommonSize, ...]
    allocation_latency: Latency
    release_latency: Latency
    sites: tuple[SiteFacts, ...]
    site_latency: tuple[Latency, ...]
    site_sizes: tuple[SiteSizes, ...]
    stacks: Columns
    stack_lives: Columns
    lifetimes: LifetimeMap
    temporaries: int
    threads: tuple[ByThread, ...]
    cross_thread: tuple[CrossThread, ...]
    realloc_chains: tuple[ReallocChains, ...]
    release_runs: tuple[ReleaseRun, ...]
    emptied_sites: tuple[EmptiedSite, ...]
    copied_growths: tuple[CopiedGrowth, ...]
    mappings: tuple[MappingSite, ...]
    own_moments: tuple[OwnMoment, ...]
    residency: tuple[Residency, ...]
    resident_owners: tuple[ResidentOwner, ...]
    resident_names: tuple[str, ...]
    pins: tuple[PinSite, ...]
    pin_ages: tuple[PinAge, ...]
    pin_sets: tuple[PinSet, ...]
    pin_set_sites: tuple[int, ...]
    heap_parts: tuple[HeapPart, ...]
    part_holders: tuple[PartHolder, ...]
    threshold_raises: tuple[ThresholdRaise, ...]
    allocator_options: tuple[AllocatorOption, ...]
    untouched: tuple[UntouchedSite, ...]
    slowest: tuple[SlowCall, ...]
    slow_calls: tuple[SlowCalls, ...]
    kernel: KernelSums
    heap_growths: tuple[HeapGrowth, ...]
    large_heap_blocks: LargeHeapBlocks
    processor: Processor
    refault_sites: tuple[RefaultSite, ...]
    timeline: tuple[TimelinePoint, ...]
    series_end_ns: tuple[int, ...]
    series_rows: tuple[SeriesRow, ...]
    series_moments: Columns
    bin_end_ns: tuple[int, ...]
    path_bins: Columns
    thread_bins: Columns
    latency_bins: Columns
    slow_bins: Columns
    scans: tuple[Residency, ...]
    scan_owners: tuple[ResidentOwner, ...]
    cell_bytes: int
    page_cells: Columns
    path_pins: Columns
    recorder: RecorderCost
    completeness: Completeness
    coverage: Coverage
    spreads: Spreads | None
