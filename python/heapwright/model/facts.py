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
    cause: int
    work: int
    faults: int
    fault_ns: int
    waited_ns: int
    preempted_ns: int
    mappings: int
    mapped_bytes: int
    small_frees: int
    small_frees_stack: int


class SlowCalls(NamedTuple):
    """Slow calls of one entry point with one cause."""

    kind: int
    cause: int
    calls: int
    duration_ns: int


class KernelSums(NamedTuple):
    """What the kernel did within all calls, slow or not."""

    faults: int
    fault_ns: int
    waits: int
    waited_ns: int
    preemptions: int
    preempted_ns: int
    mapping_calls: int
    mapping_ns: int
    arena_growths: int
    incomplete_calls: int


class LargeHeapBlocks(NamedTuple):
    """Blocks that were mappings of their own at first, and are no more since the threshold rose."""

    calls: int
    bytes: int


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


class HeapPart(NamedTuple):
    """A part of the heap, at one of the scans. Of the C library: [heap] is the main heap, 64 MiB
    that are aligned to as much are one of an arena's, blocks with a mapping of their own are
    "mapped blocks". Of other allocators all is one part, "heap". Sums of resident memory: used +
    partly_free + free_page + allocator = resident.
    """

    scan: int
    kind: int
    address: int
    blocks: int
    resident_bytes: int
    used_bytes: int
    partly_free_bytes: int
    free_page_bytes: int
    allocator_bytes: int
    above_last_bytes: int
    short_free_bytes: int
    large_free_bytes: int


class PartHolder(NamedTuple):
    """Who keeps the end of a part from being given back. The sites of one part come from its end
    downwards: without the blocks of this one and those before it, free_bytes would lie above the
    last block that is left.
    """

    scan: int
    part: int
    site: int
    blocks: int
    free_bytes: int


class ThresholdRaise(NamedTuple):
    """A free of a block that had a mapping of its own and was larger than any such before: from
    then on the C library takes blocks up to this size from its arenas, unless a setting forbids it.
    """

    time_ns: int
    bytes: int
    site: int


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
    resident. mremap ends the old mapping and makes a new one. Lengths are whole pages. Older traces
    do not say what is of files or reserved.
    """

    site: int
    calls: int
    bytes: int
    of_files_bytes: int
    unmapped_bytes: int
    given_back_bytes: int
    at_end_bytes: int
    reserved_at_end_bytes: int


class ReleaseRun(NamedTuple):
    """Releases of one thread without an allocation of its own, or a gap of a millisecond, between
    them.
    """

    thread: int
    site: int
    begin_ns: int
    end_ns: int
    blocks: int
    bytes: int
    release_ns: int


class EmptiedSite(NamedTuple):
    """Blocks of a site that died in runs of releases which left next to none of the site: no more
    than an eighth of what they took.
    """

    leader: int
    site: int
    runs: int
    blocks: int
    bytes: int


class CopiedGrowth(NamedTuple):
    """Blocks that gave way to a larger one: a thread allocated at their site from 1.25 to 4 times
    their size, and released them next. Vectors, strings and hash tables grow so. Chains: buffers,
    however often they grew.
    """

    site: int
    steps: int
    copied_bytes: int
    time_ns: int
    chains: int
    final_p50_bytes: int
    final_p75_bytes: int
    final_p90_bytes: int


class ReallocChains(NamedTuple):
    """A buffer that grew (or shrank) by realloc, from its first allocation to its release; summed
    by the site of its last realloc.
    """

    site: int
    chains: int
    steps: int
    moved: int
    copied_bytes: int
    steps_ns: int
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
    is_most_free: int
    is_last: int
    is_before_asked: int
    is_after_asked: int
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
    huge_unused_bytes: int
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
    usable_bytes: int
    age_sum_ns: int


class UntouchedSite(NamedTuple):
    """Large blocks of one site (64 KiB and more) and what of them is not resident."""

    scan: int
    site: int
    blocks: int
    live_bytes: int
    untouched_bytes: int


class SeriesRow(NamedTuple):
    """A site whose course is known: from first_bin on; 0 = all of it."""

    site: int
    first_bin: int


class SiteFacts(NamedTuple):
    """What one site, or one stack, did."""

    allocations: int
    by_operator_new: int
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
    p99_bytes: int
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
    swapped_bytes: int
    page_table_bytes: int
    cgroup_charge_bytes: int
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
    release_runs: tuple[ReleaseRun, ...]
    emptied_sites: tuple[EmptiedSite, ...]
    copied_growths: tuple[CopiedGrowth, ...]
    mappings: tuple[MappingSite, ...]
    residency: tuple[Residency, ...]
    resident_owners: tuple[ResidentOwner, ...]
    resident_names: tuple[str, ...]
    pins: tuple[PinSite, ...]
    heap_parts: tuple[HeapPart, ...]
    part_holders: tuple[PartHolder, ...]
    threshold_raises: tuple[ThresholdRaise, ...]
    untouched: tuple[UntouchedSite, ...]
    slowest: tuple[SlowCall, ...]
    slow_calls: tuple[SlowCalls, ...]
    slow_work: tuple[SlowCalls, ...]
    kernel: KernelSums
    large_heap_blocks: LargeHeapBlocks
    timeline: tuple[TimelinePoint, ...]
    series_end_ns: tuple[int, ...]
    series_rows: tuple[SeriesRow, ...]
    series_moments: Columns
    bin_end_ns: tuple[int, ...]
    path_bins: Columns
    thread_bins: Columns
    latency_bins: Columns
    scans: tuple[Residency, ...]
    scan_owners: tuple[ResidentOwner, ...]
    cell_bytes: int
    page_cells: Columns
    path_pins: Columns
    recorder: RecorderCost
    completeness: Completeness
    coverage: Coverage
    spreads: Spreads | None
