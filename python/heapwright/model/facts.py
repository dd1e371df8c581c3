# SPDX-License-Identifier: MIT
"""The facts of a trace as named tuples: src/analyze/facts.hpp's mirror.

Bytes are requested bytes and times are nanoseconds since the start of the
recording, unless a name says otherwise.
"""

# Annotations are values here: from text, every field of a NamedTuple is compiled, half of the import's time.

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from heapwright.model.completeness import Completeness, Span
from heapwright.model.records import clean, numbers_of
from heapwright.model.spreads import Spreads, spreads_of

if TYPE_CHECKING:
    from heapwright.model.native import Facts as NativeFacts

Row = TypeVar("Row")


class Latency(NamedTuple):
    """Time of the real calls; percentiles are right within 6.25 %."""

    calls: int
    sum_ns: int
    max_ns: int
    p50_ns: int
    p90_ns: int
    p99_ns: int
    p999_ns: int
    p9999_ns: int


class Totals(NamedTuple):
    """Sums over everything that passed the filter."""

    events: int
    allocations: int
    releases: int
    reallocs: int
    failed: int
    null_frees: int
    requested_bytes: int
    usable_bytes: int
    unknown_releases: int
    reused_live_addresses: int
    mapped_bytes: int
    unmapped_bytes: int
    zero_size: int
    allocator_ns: int
    span_ns: int
    size_mismatches: int
    releases_from_before: int
    releases_in_pauses: int
    inherited_releases: int


class Peak(NamedTuple):
    """The moment when live requested bytes were highest."""

    time_ns: int
    live_bytes: int
    live_usable_bytes: int
    live_blocks: int


class ByKind(NamedTuple):
    """One entry point: malloc, operator new[], ..."""

    kind: int
    calls: int
    bytes: int
    latency: Latency


class BySizeClass(NamedTuple):
    """One power-of-two class of requested sizes, both ends included."""

    from_bytes: int
    to_bytes: int
    allocations: int
    bytes: int
    overhead_bytes: int
    live_at_peak_blocks: int
    live_at_peak_bytes: int
    allocation_latency: Latency
    release_latency: Latency


class CommonSize(NamedTuple):
    """A size that was asked for often."""

    size_bytes: int
    allocations: int


class SiteFacts(NamedTuple):
    """What one site, or one stack, did."""

    allocations: int
    bytes: int
    overhead_bytes: int
    reallocs: int
    temporaries: int
    freed_by_other_thread: int
    allocator_ns: int
    release_ns: int
    live_at_peak_blocks: int
    live_at_peak_bytes: int
    live_at_end_blocks: int
    live_at_end_bytes: int
    live_at_end_parts: int  # bit i: some were allocated in the i-th of 64 equal parts of the time
    own_peak_bytes: int
    lifetime_sum_ns: int
    freed: int
    live_at_pause_blocks: int
    live_at_pause_bytes: int


class LifetimeMap(NamedTuple):
    """Size x lifetime: row-major cells, the last column is "still live"."""

    size_from_bytes: tuple[int, ...]
    lifetime_from_ns: tuple[int, ...]
    blocks: tuple[int, ...]
    bytes: tuple[int, ...]


class ByThread(NamedTuple):
    """What one thread did; same order as Trace.threads."""

    allocations: int
    releases: int
    bytes: int
    allocator_ns: int
    temporaries: int
    peak_live_bytes: int


class CrossThread(NamedTuple):
    """Blocks that one thread allocated and another (or the same) freed."""

    allocating_thread: int
    freeing_thread: int
    blocks: int
    bytes: int


class ReallocChains(NamedTuple):
    """Buffers resized by realloc, by the site of the last realloc."""

    site: int
    chains: int
    steps: int
    moved: int
    copied_bytes: int
    longest_steps: int
    final_bytes: int


class SlowCall(NamedTuple):
    """One of the slowest calls."""

    begin_ns: int
    duration_ns: int
    kind: int
    thread: int
    stack: int
    size_bytes: int


class TimelinePoint(NamedTuple):
    """State at the end of one of the equal steps of the recording."""

    time_ns: int
    live_bytes: int
    live_usable_bytes: int
    live_blocks: int
    highest_live_bytes: int
    usable_at_highest_bytes: int
    resident_bytes: int
    resident_file_bytes: int
    resident_shared_bytes: int
    allocations: int
    releases: int
    allocator_ns: int


class MappingSite(NamedTuple):
    """Memory that the program mapped itself, by the site of the mapping call."""

    site: int
    calls: int
    bytes: int
    unmapped_bytes: int
    at_end_bytes: int


class RecorderCost(NamedTuple):
    """What recording itself took."""

    calls_ns: int
    waited_ns: int
    peak_bytes: int
    file_bytes: int


class StackColumns:
    """What each stack did: SiteFacts' columns by name, made when first asked for, since stacks are many."""

    def __init__(self, native: "NativeFacts") -> None:
        self._native = native

    @cached_property
    def _columns(self) -> dict[str, memoryview]:
        return {name: numbers_of(packed) for name, packed in self._native.table("stacks").items()}

    def __getitem__(self, name: str) -> memoryview:
        return self._columns[name]


class Facts(NamedTuple):
    """Everything the analysis says about a trace."""

    totals: Totals
    peak: Peak
    by_kind: tuple[ByKind, ...]
    by_size: tuple[BySizeClass, ...]
    common_sizes: tuple[CommonSize, ...]
    allocation_latency: Latency
    release_latency: Latency
    sites: tuple[SiteFacts, ...]
    site_latency: tuple[Latency, ...]
    stack_columns: StackColumns
    lifetimes: LifetimeMap
    temporaries: int
    threads: tuple[ByThread, ...]
    cross_thread: tuple[CrossThread, ...]
    realloc_chains: tuple[ReallocChains, ...]
    mappings: tuple[MappingSite, ...]
    slowest: tuple[SlowCall, ...]
    timeline: tuple[TimelinePoint, ...]
    recorder: RecorderCost
    completeness: Completeness
    spreads: Spreads | None


def rows_of(kind: type[Row], columns: Mapping[str, bytes], prefix: str = "") -> list[Row]:
    """Turns packed 64-bit columns into rows; the fields that are no column are latencies."""
    names: tuple[str, ...] = kind._fields  # type: ignore[attr-defined]
    values: list[Sequence[Any]] = [
        numbers_of(columns[prefix + name])
        if prefix + name in columns
        else rows_of(Latency, columns, f"{prefix}{name}.")
        for name in names
    ]
    return [kind(*row) for row in zip(*values, strict=True)]


def facts_of(native: "NativeFacts") -> Facts:
    """The native facts as named tuples."""

    def rows(kind: type[Any], name: str) -> tuple[Any, ...]:
        return tuple(rows_of(kind, native.table(name)))

    completeness = native.completeness()
    reasons = tuple(clean(reason) for reason in completeness.pop("reasons"))
    coverage = tuple(Span(*span) for span in completeness.pop("coverage"))
    cells = {name: tuple(numbers_of(packed)) for name, packed in native.lifetimes().items()}
    return Facts(
        totals=rows(Totals, "totals")[0],
        peak=rows(Peak, "peak")[0],
        by_kind=rows(ByKind, "by_kind"),
        by_size=rows(BySizeClass, "by_size"),
        common_sizes=rows(CommonSize, "common_sizes"),
        allocation_latency=rows(Latency, "allocation_latency")[0],
        release_latency=rows(Latency, "release_latency")[0],
        sites=rows(SiteFacts, "sites"),
        site_latency=rows(Latency, "site_latency"),
        stack_columns=StackColumns(native),
        lifetimes=LifetimeMap(**cells),
        temporaries=native.temporaries(),
        threads=rows(ByThread, "threads"),
        cross_thread=rows(CrossThread, "cross_thread"),
        realloc_chains=rows(ReallocChains, "realloc_chains"),
        mappings=rows(MappingSite, "mappings"),
        slowest=rows(SlowCall, "slowest"),
        timeline=rows(TimelinePoint, "timeline"),
        recorder=rows(RecorderCost, "recorder")[0],
        completeness=Completeness(reasons=reasons, coverage=coverage, **completeness),
        spreads=spreads_of(native),
    )
