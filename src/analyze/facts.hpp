// SPDX-License-Identifier: MIT
// length: the single definition of what crosses to Python
// The facts: everything the analysis says about a trace, as plain data.
//
// Unless a field says otherwise: bytes are requested bytes, times are ns
// since the start of the recording, counts are calls. With a sampled trace
// (metadata.sample_mean_bytes > 0) counts and bytes of allocations are
// unbiased estimates (each sample weighs 1 / (1 - exp(-size / mean))), rounded
// to whole numbers at the very end; `spreads` says how sure they are. Durations
// of sampled calls say nothing about those of other calls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trace/event.hpp"
#include "trace/reader.hpp"

namespace heapwright::analyze {

// What to look at. An allocation counts when it passes every filter; a
// release counts when its block does, whoever releases it. Calls without a
// block (failed, mmap, ...) count by their own thread, size and stack.
//
// The time range is [from_ns, to_ns) of the calls' begin. Blocks that became
// live before it stay live in it: peak, live and lifetimes know them, but
// their allocation is not counted. "At the end" means at to_ns.
struct Options {
  std::uint64_t from_ns = 0;
  std::uint64_t to_ns = UINT64_MAX;
  std::uint64_t min_size_bytes = 0;
  std::uint64_t max_size_bytes = UINT64_MAX;
  std::vector<std::uint8_t> thread_chosen;  // by Thread::index; empty = all
  // Site of each stack id: a group of stacks that the report shows as one
  // line. Size = reader.stacks().size(); empty = every stack is its own site.
  std::vector<std::uint32_t> site_of_stack;
  std::vector<std::uint8_t> stack_chosen;  // by stack id; empty = all
  std::uint32_t timeline_points = 512;
  std::uint32_t slowest_calls = 32;
  // Called now and then with events done and events in all; may be empty.
  std::function<void(std::uint64_t, std::uint64_t)> on_progress;
};

// Counts in buckets whose width grows with the value: 8 linear steps per
// power of two, so a bucket is at most 12.5 % wide. bucket_of(v) = v for
// v < 8.
struct Histogram {
  static constexpr std::size_t bucket_count = 512;
  static std::size_t bucket_of(std::uint64_t value) noexcept;
  static std::uint64_t lower_bound_of(std::size_t bucket) noexcept;
  std::vector<std::uint64_t> counts;  // empty, or shorter than bucket_count: rest is 0
};

// Latency of the real calls. Percentiles are interpolated within a bucket
// (error at most 6.25 %); max and sum are exact.
struct Latency {
  std::uint64_t calls = 0;
  std::uint64_t sum_ns = 0;
  std::uint64_t max_ns = 0;
  std::uint64_t p50_ns = 0;
  std::uint64_t p90_ns = 0;
  std::uint64_t p99_ns = 0;
  std::uint64_t p999_ns = 0;
  std::uint64_t p9999_ns = 0;
};

struct Totals {
  std::uint64_t events = 0;
  std::uint64_t allocations = 0;  // successful, reallocs that returned a block included
  std::uint64_t releases = 0;     // of known and unknown blocks, old sides of reallocs
                                  // included; free(NULL) excluded
  std::uint64_t reallocs = 0;     // calls of realloc and reallocarray
  std::uint64_t failed = 0;       // allocations that returned NULL
  std::uint64_t null_frees = 0;
  std::uint64_t requested_bytes = 0;  // sum over allocations
  std::uint64_t usable_bytes = 0;
  std::uint64_t unknown_releases = 0;       // block's allocation is not in the trace, though it should be
  std::uint64_t releases_from_before = 0;   // the block may be from before the recording, or from a pause
  std::uint64_t releases_in_pauses = 0;     // of blocks whose address came back after a pause
  std::uint64_t inherited_releases = 0;     // the same in a fork child: a block from before the fork
  std::uint64_t reused_live_addresses = 0;  // an address came back while live: a free was missed
  std::uint64_t mapped_bytes = 0;           // program-made mmap
  std::uint64_t unmapped_bytes = 0;
  std::uint64_t zero_size = 0;
  std::uint64_t allocator_ns = 0;     // sum of all durations, all threads
  std::uint64_t span_ns = 0;          // first begin to last end
  std::uint64_t size_mismatches = 0;  // sized free with another size than allocated
};

// The moment when live requested bytes were highest (exact), and what lived.
struct Peak {
  std::uint64_t time_ns = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t live_usable_bytes = 0;
  std::uint64_t live_blocks = 0;
};

struct ByKind {  // one per event kind seen
  trace::EventKind kind = trace::EventKind::none;
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;  // successful allocations and mappings; else 0
  Latency latency;
};

struct BySizeClass {  // power-of-two classes of the requested size
  std::uint64_t from_bytes = 0;
  std::uint64_t to_bytes = 0;  // inclusive
  std::uint64_t allocations = 0;
  std::uint64_t bytes = 0;
  std::uint64_t overhead_bytes = 0;  // usable - requested
  std::uint64_t live_at_peak_blocks = 0;
  std::uint64_t live_at_peak_bytes = 0;
  Latency allocation_latency;
  Latency release_latency;  // releases of blocks of this class
};

// Per site; indexed by site number. Also used per stack (`stacks`), with the
// histograms left empty there.
struct Site {
  std::uint64_t allocations = 0;
  std::uint64_t bytes = 0;
  std::uint64_t overhead_bytes = 0;  // sum of usable - requested
  std::uint64_t reallocs = 0;
  std::uint64_t temporaries = 0;  // see Facts::temporaries
  std::uint64_t freed_by_other_thread = 0;
  std::uint64_t allocator_ns = 0;  // of this site's allocation calls
  std::uint64_t release_ns = 0;    // of the calls that freed its blocks
  std::uint64_t live_at_peak_blocks = 0;
  std::uint64_t live_at_peak_bytes = 0;
  std::uint64_t live_at_end_blocks = 0;
  std::uint64_t live_at_end_bytes = 0;
  // When the blocks that live at the end were allocated: bit i, in the i-th
  // of 64 equal parts of the time looked at.
  std::uint64_t live_at_end_parts = 0;
  std::uint64_t live_at_pause_blocks = 0;  // of those live at the end: lived when the recording
  std::uint64_t live_at_pause_bytes = 0;   // paused, so that they may have been released unseen
  std::uint64_t own_peak_bytes = 0;        // highest live bytes of this site alone
  std::uint64_t lifetime_sum_ns = 0;       // of its freed blocks
  std::uint64_t freed = 0;
};

struct SiteDetail {  // same index as sites
  Histogram sizes;
  Histogram lifetimes_ns;  // freed blocks only; live ones are censored
  Latency allocation_latency;
};

// size x lifetime map. Rows: power-of-two size classes. Columns: decades of
// lifetime from <100 ns to >=1000 s in half-decade steps; last column: still
// live at the end (censored).
struct LifetimeMap {
  std::vector<std::uint64_t> size_from_bytes;   // per row
  std::vector<std::uint64_t> lifetime_from_ns;  // per column but the last
  std::vector<std::uint64_t> blocks;            // row-major
  std::vector<std::uint64_t> bytes;             // row-major
};

struct ByThread {
  std::uint64_t allocations = 0;
  std::uint64_t releases = 0;
  std::uint64_t bytes = 0;
  std::uint64_t allocator_ns = 0;
  std::uint64_t temporaries = 0;
  std::uint64_t peak_live_bytes = 0;  // of blocks this thread allocated
};

// Non-zero cells, allocating == freeing thread included. Beyond a million
// different pairs the rest is summed in one cell of other_threads.
struct CrossThread {
  static constexpr std::uint32_t other_threads = UINT32_MAX;
  std::uint32_t allocating_thread = 0;
  std::uint32_t freeing_thread = 0;
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
};

// A buffer that grew (or shrank) by realloc, from its first allocation to
// its release; summed by the site of its last realloc.
struct ReallocChains {
  std::uint32_t site = 0;
  std::uint64_t chains = 0;
  std::uint64_t steps = 0;         // realloc calls
  std::uint64_t moved = 0;         // steps whose address changed
  std::uint64_t copied_bytes = 0;  // min(old, new) of moved steps
  std::uint64_t longest_steps = 0;
  std::uint64_t final_bytes = 0;  // sum of last sizes
};

struct SlowCall {
  std::uint64_t begin_ns = 0;
  std::uint64_t duration_ns = 0;
  trace::EventKind kind = trace::EventKind::none;
  std::uint32_t thread = 0;
  std::uint32_t stack = 0;       // allocation: of the call; release: of the call when
                                 // recorded, otherwise of the block's allocation
  std::uint64_t size_bytes = 0;  // of the block
};

struct TimelinePoint {  // state at the END of each of timeline_points equal steps
  std::uint64_t time_ns = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t live_usable_bytes = 0;
  std::uint64_t live_blocks = 0;
  std::uint64_t highest_live_bytes = 0;       // within the step
  std::uint64_t usable_at_highest_bytes = 0;  // live usable bytes at that moment
  // The latest sample up to time_ns; 0 = none. Shared is the program's own:
  // the recorder's pages are left out.
  std::uint64_t resident_bytes = 0;  // anonymous
  std::uint64_t resident_file_bytes = 0;
  std::uint64_t resident_shared_bytes = 0;
  std::uint64_t allocations = 0;  // within the step
  std::uint64_t releases = 0;
  std::uint64_t allocator_ns = 0;
};

// Memory that the program mapped itself, by the site of the mmap or mremap.
// Mapped is not resident, and what is only reserved is among it. mremap ends
// the old mapping and makes a new one. Lengths are whole pages.
struct MappingSite {
  std::uint32_t site = 0;
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
  std::uint64_t unmapped_bytes = 0;  // of this site's mappings, whoever unmapped or replaced them
  std::uint64_t at_end_bytes = 0;    // bytes - unmapped_bytes, and what was mapped before the time range
};

struct RecorderCost {
  std::uint64_t calls_ns = 0;   // events x calibrated cost per call
  std::uint64_t waited_ns = 0;  // threads waited for the buffer
  std::uint64_t peak_bytes = 0;
  std::uint64_t file_bytes = 0;
  double bytes_per_event = 0.0;
};

struct Span {  // [from_ns, to_ns)
  std::uint64_t from_ns = 0;
  std::uint64_t to_ns = 0;
};

// Which part of the run was recorded. Calls outside of it were not seen.
struct Coverage {
  std::vector<Span> spans;   // within [from_ns, to_ns) of the options
  bool has_start = true;     // recording was on when the process began
  bool has_end = true;       // and when it ended
  std::uint64_t pauses = 0;  // between the first and the last span of the run

  bool is_whole_run() const noexcept { return has_start && has_end && pauses == 0; }
};

struct Completeness {
  // Within the coverage: end mark present, nothing dropped, no damage, no gaps.
  bool is_complete = false;
  std::uint64_t dropped = 0;
  std::uint64_t sequence_gaps = 0;   // events missing by their numbers
  std::vector<std::string> reasons;  // empty when complete
};

// Of an estimate from samples (spreads.hpp): an unbiased estimate of its
// variance, and the root of the largest term of that.
struct Spread {
  double variance = 0;
  double largest = 0;
};
struct CallSpread {
  Spread allocations;
  Spread bytes;
  Spread overhead;
};
struct LiveSpread {  // at the peak's moment, and at the end
  Spread peak_blocks;
  Spread peak_bytes;
  Spread end_blocks;
  Spread end_bytes;
};
struct StepSpread {  // variances
  double live_bytes = 0;
  double allocations = 0;
};

// Empty when every call was recorded.
struct Spreads {
  std::vector<CallSpread> total_calls;  // one
  std::vector<LiveSpread> total_live;   // one
  std::vector<CallSpread> site_calls;   // as sites
  std::vector<LiveSpread> site_live;
  std::vector<CallSpread> class_calls;  // by size class: the bits of a size
  std::vector<LiveSpread> class_live;
  std::vector<CallSpread> thread_calls;  // as threads
  std::vector<StepSpread> steps;         // as timeline
};

struct Facts {
  Totals totals;
  Peak peak;
  std::vector<ByKind> by_kind;
  std::vector<BySizeClass> by_size;
  Histogram sizes;                                                    // exact up to 12.5 %
  std::vector<std::pair<std::uint64_t, std::uint64_t>> common_sizes;  // (size, allocations), top 32
  Latency allocation_latency;
  Latency release_latency;
  std::vector<Site> sites;
  std::vector<SiteDetail> site_details;
  bool site_details_cut = false;  // histograms ran out of room: lower bounds
  std::vector<Site> stacks;       // per stack id
  LifetimeMap lifetimes;
  // A temporary is a block freed by its allocating thread before that thread
  // allocates again: the cost could be saved by the stack or a reused buffer.
  std::uint64_t temporaries = 0;
  std::vector<ByThread> threads;  // per Thread::index
  std::vector<CrossThread> cross_thread;
  std::vector<ReallocChains> realloc_chains;
  std::vector<MappingSite> mappings;  // most bytes first
  std::vector<SlowCall> slowest;      // longest first
  std::vector<TimelinePoint> timeline;
  RecorderCost recorder;
  Completeness completeness;
  Coverage coverage;
  Spreads spreads;
};

// Reads the whole trace once, in order of time, and gives the facts.
// Memory: O(live blocks + stacks + threads), never O(events).
// Uses every core it may. Throws trace::TraceError.
Facts analyze(const trace::Reader& reader, const Options& options);

}  // namespace heapwright::analyze
