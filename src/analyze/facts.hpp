// SPDX-License-Identifier: MIT
// The facts: all results of an analysis, as plain data.
//
// Unless a field says otherwise: bytes are requested bytes, times are ns since the start of the recording,
// counts are calls. With a sampled trace (metadata.sample_mean_bytes > 0), counts and bytes of allocations
// are unbiased estimates (each sample weighs 1 / (1 - exp(-size / mean))), rounded to whole numbers at the
// very end; `spreads` gives their uncertainty. Durations of sampled calls do not represent those of other
// calls.
//
// Fields have the same names in Python: src/python_module/fields.py reads these structs. The row types are
// only declared here, so that a new field recompiles only the code that fills or reads its table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/facts/causes.hpp"
#include "analyze/facts/coverage.hpp"
#include "analyze/facts/latency.hpp"
#include "analyze/facts/lifetimes.hpp"
#include "analyze/facts/processor.hpp"
#include "analyze/facts/spreads.hpp"
#include "analyze/facts/totals.hpp"

namespace heapwright::analyze {

struct ByKind;
struct BySizeClass;
struct CommonSize;
struct SlowCall;
struct SiteFacts;
struct StackLives;
struct SiteSizes;
struct ReallocChains;
struct MappingSite;
struct OwnMoment;
struct ReleaseRun;
struct EmptiedSite;
struct CopiedGrowth;
struct UntouchedSite;
struct Residency;
struct ResidentOwner;
struct PinSite;
struct PinAge;
struct PinSet;
struct HeapPart;
struct PartHolder;
struct ThresholdRaise;
struct AllocatorOption;
struct ByThread;
struct CrossThread;
struct TimelinePoint;
struct SeriesRow;
struct SiteMoment;
struct PathBin;
struct ThreadBin;
struct LatencyBin;
struct SlowBin;
struct PageCell;
struct PathPin;

// All results of an analysis.
struct Facts {
  Totals totals;
  Peak peak;
  std::vector<ByKind> by_kind;
  std::vector<BySizeClass> by_size;
  std::vector<CommonSize> common_sizes;  // at most 32
  Latency allocation_latency;
  Latency release_latency;
  std::vector<SiteFacts> sites;         // by site number
  std::vector<Latency> site_latency;    // of allocations, by site number
  std::vector<SiteSizes> site_sizes;    // by site number
  std::vector<SiteFacts> stacks;        // by stack id
  std::vector<StackLives> stack_lives;  // the same
  LifetimeMap lifetimes;
  // A temporary is a block freed by its allocating thread before that thread allocates again: the stack or a
  // reused buffer could avoid the cost.
  std::uint64_t temporaries = 0;
  std::vector<ByThread> threads;  // by Thread::index
  std::vector<CrossThread> cross_thread;
  std::vector<ReallocChains> realloc_chains;  // most copied bytes first
  // The next three are empty for sampled traces: they need every call.
  std::vector<ReleaseRun> release_runs;        // the longest, in order of time
  std::vector<EmptiedSite> emptied_sites;      // most blocks first
  std::vector<CopiedGrowth> copied_growths;    // most steps first
  std::vector<MappingSite> mappings;           // most bytes first
  std::vector<OwnMoment> own_moments;          // site by site, the largest first, in order of time
  std::vector<Residency> residency;            // in order of time; empty without scans or for sampled traces
  std::vector<ResidentOwner> resident_owners;  // of each scan, most bytes first
  std::vector<std::string> resident_names;
  std::vector<PinSite> pins;     // of each scan, most held or pinned bytes first
  std::vector<PinAge> pin_ages;  // of each of these pins, lowest age first
  std::vector<PinSet> pin_sets;  // of each scan, most pinned bytes first
  std::vector<std::uint64_t> pin_set_sites;
  std::vector<HeapPart> heap_parts;                // of each scan, most free bytes first
  std::vector<PartHolder> part_holders;            // of each part, from its end downwards
  std::vector<ThresholdRaise> threshold_raises;    // of the C library's mmap threshold, in order of time
  std::vector<AllocatorOption> allocator_options;  // by parameter
  std::vector<UntouchedSite> untouched;            // of each scan, most untouched bytes first
  std::vector<SlowCall> slowest;                   // longest first
  std::vector<SlowCalls> slow_calls;               // of all calls of at least 20 us
  KernelSums kernel;
  std::vector<HeapGrowth> heap_growths;  // longest first
  LargeHeapBlocks large_heap_blocks;
  Processor processor;
  std::vector<RefaultSite> refault_sites;  // most faults first
  std::vector<TimelinePoint> timeline;
  // What sites held at the end of equal bins: one row per site, for the sites that ever held much.
  std::vector<std::uint64_t> series_end_ns;  // of each bin
  std::vector<SeriesRow> series_rows;
  std::vector<SiteMoment> series_moments;  // row by row
  // Only with Options::wants_activity, up to path_pins.
  std::vector<std::uint64_t> bin_end_ns;
  std::vector<PathBin> path_bins;        // by bin, then stack
  std::vector<ThreadBin> thread_bins;    // by bin
  std::vector<LatencyBin> latency_bins;  // by bin; no releases if only some blocks are analysed
  std::vector<SlowBin> slow_bins;        // by bin
  std::vector<Residency> scans;          // in order of time: those of `residency`, and others in between
  std::vector<ResidentOwner> scan_owners;
  std::uint64_t cell_bytes = 0;
  std::vector<PageCell> page_cells;  // by scan, then address
  std::vector<PathPin> path_pins;    // by scan, then stack
  RecorderCost recorder;
  Completeness completeness;
  Coverage coverage;
  std::optional<Spreads> spreads;  // for a sampled trace
};

}  // namespace heapwright::analyze
