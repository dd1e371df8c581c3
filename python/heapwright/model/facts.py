# SPDX-License-Identifier: MIT
# length: written by the build
"""The structs of src/analyze and src/analyze/facts, where their fields are explained.

Written by src/python_module/fields.py at each build, not by hand.
"""

# Annotations are values here: values.py reads the rows by them.

from typing import NamedTuple

from heapwright.model.values import Columns


class Latency(NamedTuple):
    """Latency of the real calls. Percentiles are interpolated within a bucket (error at most 6.25
    %); max and sum are exact.
    """

    calls: int
    sum_ns: int
    max_ns: int
    p50_ns: int
    p90_ns: int
    p99_ns: int
    p999_ns: int
    p9999_ns: int


class ByKind(NamedTuple):
    """One entry point that was called: malloc, operator new[], ..."""

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


class SlowCall(NamedTuple):
    """One of the slowest calls."""

    begin_ns: int
    duration_ns: int
    kind: int
    thread: int
    stack: int
    size_bytes: int


class Span(NamedTuple):
    """A time in which calls were recorded: [from_ns, to_ns)."""

    from_ns: int
    to_ns: int


class Coverage(NamedTuple):
    """Which part of the run was recorded. Calls outside of it were not seen."""

    spans: tuple[Span, ...]
    has_start: bool
    has_end: bool
    pauses: int
    is_whole_run: bool


class Completeness(NamedTuple):
    """Whether every call of the times covered is in the trace, and if not, why."""

    is_complete: bool
    dropped: int
    sequence_gaps: int
    reasons: tuple[str, ...]


class LifetimeMap(NamedTuple):
    """size x lifetime map. Rows: power-of-two size classes. Columns: decades of lifetime from <100
    ns to >=1000 s in half-decade steps; last column: still live at the end (censored).
    """

    size_from_bytes: tuple[int, ...]
    lifetime_from_ns: tuple[int, ...]
    blocks: tuple[int, ...]
    bytes: tuple[int, ...]


class MappingSite(NamedTuple):
    """Memory that the program mapped itself, by the site of the mmap or mremap. Mapped is not
    resident, and what is only reserved is among it. mremap ends the old mapping and makes a new
    one. Lengths are whole pages.
    """

    site: int
    calls: int
    bytes: int
    unmapped_bytes: int
    at_end_bytes: int


class ReallocChains(NamedTuple):
    """A buffer that grew (or shrank) by realloc, from its first allocation to its release; summed
    by the site of its last realloc.
    """

    site: int
    chains: int
    steps: int
    moved: int
    copied_bytes: int
    longest_steps: int
    final_bytes: int


class Residency(NamedTuple):
    """Where the memory was that the kernel counts as resident, at one scan. All pages are in one of
    the sums, so they add up to resident_bytes; blocks are those that lived at the moment at which
    their pages were looked at.
    """

    time_ns: int
    duration_ns: int
    is_largest: int
    is_at_live_peak: int
    is_last: int
    is_whole: int
    resident_bytes: int
    kernel_before_bytes: int
    kernel_after_bytes: int
    swapped_bytes: int
    huge_bytes: int
    live_blocks: int
    live_bytes: int
    untouched_bytes: int
    rounding_bytes: int
    partly_free_bytes: int
    free_page_bytes: int
    allocator_bytes: int
    other_bytes: int
    ambiguous_bytes: int


class ResidentOwner(NamedTuple):
    """Whose the pages are that hold no block, at one of the scans."""

    scan: int
    kind: int
    name: int
    site: int
    anonymous_bytes: int
    file_bytes: int


class PinSite(NamedTuple):
    """Blocks of one site that keep resident pages from being given back."""

    scan: int
    site: int
    blocks: int
    live_bytes: int
    pages: int
    pinned_bytes: int
    held_bytes: int


class SeriesRow(NamedTuple):
    """A site whose course is known: from first_bin on; 0 = all of it."""

    site: int
    first_bin: int


class SiteMoment(NamedTuple):
    """What a site held at one moment."""

    live_bytes: int
    live_usable_bytes: int
    live_blocks: int


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
    live_at_end_parts: int
    live_at_pause_blocks: int
    live_at_pause_bytes: int
    own_peak_bytes: int
    lifetime_sum_ns: int
    freed: int


class SiteSizes(NamedTuple):
    """The sizes one site asked for. Percentiles are right within 6.25 %, and exact where all sizes
    are the same.
    """

    min_bytes: int
    p50_bytes: int
    p90_bytes: int
    max_bytes: int


class Spread(NamedTuple):
    """Of an estimate from samples: an unbiased estimate of its variance, and the root of the
    largest term of that.
    """

    variance: float
    largest: float


class CallSpread(NamedTuple):
    """Of what was allocated."""

    allocations: Spread
    bytes: Spread
    overhead: Spread


class LiveSpread(NamedTuple):
    """Of what lived at the peak's moment and at the end."""

    peak_blocks: Spread
    peak_bytes: Spread
    end_blocks: Spread
    end_bytes: Spread


class StepSpread(NamedTuple):
    """Variances of one step of the timeline."""

    live_bytes: float
    allocations: float


class Spreads(NamedTuple):
    """For each table of facts, in its order."""

    total_calls: CallSpread
    total_live: LiveSpread
    site_calls: tuple[CallSpread, ...]
    site_live: tuple[LiveSpread, ...]
    class_calls: tuple[CallSpread, ...]
    class_live: tuple[LiveSpread, ...]
    thread_calls: tuple[CallSpread, ...]
    steps: tuple[StepSpread, ...]


class ByThread(NamedTuple):
    """What one thread did."""

    allocations: int
    releases: int
    bytes: int
    allocator_ns: int
    temporaries: int
    peak_live_bytes: int


class CrossThread(NamedTuple):
    """Non-zero cells, allocating == freeing thread included. Beyond a million different pairs the
    rest is summed in one cell of other_threads.
    """

    allocating_thread: int
    freeing_thread: int
    blocks: int
    bytes: int


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
    releases_from_before: int
    releases_in_pauses: int
    inherited_releases: int
    reused_live_addresses: int
    mapped_bytes: int
    unmapped_bytes: int
    zero_size: int
    allocator_ns: int
    span_ns: int
    size_mismatches: int


class Peak(NamedTuple):
    """The moment when live requested bytes were highest (exact), and what lived."""

    time_ns: int
    live_bytes: int
    live_usable_bytes: int
    live_blocks: int


class RecorderCost(NamedTuple):
    """What recording itself took."""

    calls_ns: int
    waited_ns: int
    peak_bytes: int
    file_bytes: int


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
    site_sizes: tuple[SiteSizes, ...]
    stacks: Columns
    lifetimes: LifetimeMap
    temporaries: int
    threads: tuple[ByThread, ...]
    cross_thread: tuple[CrossThread, ...]
    realloc_chains: tuple[ReallocChains, ...]
    mappings: tuple[MappingSite, ...]
    residency: tuple[Residency, ...]
    resident_owners: tuple[ResidentOwner, ...]
    resident_names: tuple[str, ...]
    pins: tuple[PinSite, ...]
    slowest: tuple[SlowCall, ...]
    timeline: tuple[TimelinePoint, ...]
    series_end_ns: tuple[int, ...]
    series_rows: tuple[SeriesRow, ...]
    series_moments: Columns
    recorder: RecorderCost
    completeness: Completeness
    coverage: Coverage
    spreads: Spreads | None
