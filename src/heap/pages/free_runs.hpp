// SPDX-License-Identifier: MIT
// The free runs of the page source: into the bins, out of them, beside each
// other. All of it under the lock of guard(), in a fixed number of steps.
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
  std::atomic<std::uint64_t> dirty_units;  // of the recent ones, too; written under the lock
  std::uint64_t clean_units;
  Relaxed<std::uint32_t> unmapped_units;
  std::atomic<std::uint32_t> frontier;     // units below were made writable
  std::atomic<std::uint32_t> reached;      // units below may have been handed out
  Relaxed<std::uint32_t> set_aside_units;  // in lots, and not opened yet
  std::uint32_t span_units;
  std::uint32_t first_unit;
  std::size_t limit_bytes;                // of the address space, as it was at the start; 0: none
  std::atomic<std::uintptr_t> lines_end;  // lines below can be read
  std::atomic<std::uint32_t> purges;      // begun and ended ones: odd while a run is in no bin
  std::uint32_t awaiting;                 // calls that wait for the end of one: no other begins
  std::atomic<bool> is_growing_ahead;     // somebody maps more than is asked for
};
extern PageSource source;

inline LockGuard guard() noexcept { return {source.lock, counters_page->heap.page_source_lock}; }
inline bool is_dirty_run(const UnitLine* line) noexcept { return (line->flags & is_dirty) != 0; }

// The first unit of the free run that ends before `unit`, 0: none does.
std::uint32_t free_run_before(std::uint32_t unit) noexcept;
// The length of the free run that begins at the unit, 0: none does.
std::uint32_t free_units_at(std::uint32_t unit) noexcept;

// Joined with free neighbours of the same kind.
void insert_joined(std::uint32_t unit, std::uint32_t units, bool dirty) noexcept;
// Of a dirty run, as one of those that were freed last.
void add_recent(std::uint32_t unit, std::uint32_t units) noexcept;
void join_oldest_recent() noexcept;
void join_recent() noexcept;

// [unit, unit + units) of the free run that begins at `free_unit` is taken out, what is left goes back.
void carve_run(std::uint32_t free_unit, std::uint32_t unit, std::uint32_t units) noexcept;
// Takes `units` from `unit` on, of free runs that follow each other; the first begins at `free_unit`.
void carve_across(std::uint32_t free_unit, std::uint32_t unit, std::uint32_t units) noexcept;

// Unit 0: there is none so long.
Run take_dirty_run(std::uint32_t units, std::uint32_t alignment_units) noexcept;
// Where no dirty run is so long. One of more than 16 MiB may be made of runs of both kinds beside each other.
Run take_clean_run(std::uint32_t units, std::uint32_t alignment_units) noexcept;
// Clean units up to the next whole lot, or one where only one thread allocates or
// all that can be written counts. None: there is none.
UnitLot take_clean_lot() noexcept;
// With free units behind it.
Run take_run_with_room(std::uint32_t units) noexcept;
// Of clean and dirty runs beside each other, of which none is long enough.
Run take_across(std::uint32_t units) noexcept;

// Every run in the bin of its length, joined as far as possible, ends marked,
// sums right. For tests; the time grows with the number of units.
bool page_source_is_valid() noexcept;

// One past the last unit in use whose line can be read already: another thread's
// growth may be under way. first_unit() is the first.
std::uint32_t unit_frontier() noexcept;
std::uint32_t first_unit() noexcept;

}  // namespace heapwright::heap
