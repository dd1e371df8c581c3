// SPDX-License-Identifier: MIT
// Inserting, removing and joining the page source's free runs. Everything runs under
// the lock of guard(), in a bounded number of steps.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "heap/base/counting.hpp"
#include "heap/base/lock.hpp"
#include "heap/pages/free_run_bins.hpp"
#include "heap/pages/run.hpp"

namespace heapwright::heap {

struct PageSource {
  Lock lock;
  Bins clean;
  Bins dirty;
  Bins unmapped;  // unmapped_runs.hpp
  RecentRuns recent;
  std::uint32_t oldest;  // dirty runs by age, linked by second_next
  std::uint32_t newest;
  std::atomic<std::uint64_t> dirty_units;  // including recent runs; written under the lock
  std::uint64_t clean_units;
  Relaxed<std::uint32_t> unmapped_units;
  std::atomic<std::uint32_t> frontier;     // units below were made writable
  Relaxed<std::uint32_t> set_aside_units;  // in lots, not yet in slabs
  std::uint32_t span_units;
  std::uint32_t first_unit;
  std::size_t limit_bytes;                // address space limit at the start; 0: none
  std::atomic<std::uintptr_t> lines_end;  // lines below are readable
  std::atomic<std::uint32_t> purges;      // incremented at begin and end: odd while a run is in no bin
  std::uint32_t awaiting;                 // calls waiting for a purge to end; no other may begin
  std::atomic<bool> is_growing_ahead;     // a call is mapping more than it needs
  // Most slow calls read these, and few write them.
  alignas(64) std::atomic<std::uint32_t> reached;  // units below may have been allocated
  Relaxed<bool> has_outgrown_start;
};
extern PageSource source;

inline LockGuard guard() noexcept { return {source.lock, counters_page->heap.page_source_lock}; }
inline bool is_dirty_run(const UnitLine* line) noexcept { return (line->flags & is_dirty) != 0; }

// The first unit of the free run that ends before `unit`; 0: none.
std::uint32_t free_run_before(std::uint32_t unit) noexcept;
// The length of the free run that begins at the unit; 0: none.
std::uint32_t free_units_at(std::uint32_t unit) noexcept;

// Inserts a run, joined with free neighbours of the same kind.
void insert_joined(std::uint32_t unit, std::uint32_t units, bool dirty) noexcept;
// Adds a dirty run to the recent ones.
void add_recent(std::uint32_t unit, std::uint32_t units) noexcept;
void join_oldest_recent() noexcept;
void join_recent() noexcept;

// Takes [unit, unit + units) out of the free run that begins at `free_unit`; the rest stays free.
void carve_run(std::uint32_t free_unit, std::uint32_t unit, std::uint32_t units) noexcept;
// Takes `units` from `unit` on, out of adjacent free runs; the first begins at `free_unit`.
void carve_across(std::uint32_t free_unit, std::uint32_t unit, std::uint32_t units) noexcept;

// Unit 0: no run is long enough.
Run take_dirty_run(std::uint32_t units, std::uint32_t alignment_units) noexcept;
// If no dirty run is long enough. From 16 MiB on the run may span adjacent runs of both kinds.
Run take_clean_run(std::uint32_t units, std::uint32_t alignment_units) noexcept;
// Clean units up to the next lot boundary; a single unit if only one thread allocates
// or the address space is limited. Empty if there are none.
UnitLot take_clean_lot() noexcept;
// A run with free units behind it; clean only if it may be.
Run take_run_with_room(std::uint32_t units, bool may_be_clean) noexcept;
// From adjacent clean and dirty runs, none of which is long enough.
Run take_across(std::uint32_t units) noexcept;

// Whether every run is in the bin of its length, joined as far as possible, with its
// ends marked, and all sums are right. For tests; linear in the number of units.
bool page_source_is_valid() noexcept;

// One past the last unit whose line is readable, which during another thread's growth
// may be below the frontier. first_unit() is the first.
std::uint32_t unit_frontier() noexcept;
std::uint32_t first_unit() noexcept;

}  // namespace heapwright::heap
