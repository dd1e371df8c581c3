// SPDX-License-Identifier: MIT
#include "heap/pages/page_source.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "heap/base/counting.hpp"
#include "heap/base/own_thread.hpp"
#include "heap/base/settings.hpp"
#include "heap/base/system_pages.hpp"
#include "heap/pages/free_runs.hpp"
#include "heap/pages/growth.hpp"
#include "heap/pages/kept_runs.hpp"
#include "heap/pages/short_units.hpp"
#include "heap/pages/unmapped_runs.hpp"
#include "platform/futex.hpp"

namespace heapwright::heap {

namespace {

// Under the lock. Takes runs that threads keep before untouched memory.
Run find_dirty_run(std::uint32_t units, std::uint32_t alignment_units) noexcept {
  const Run run = take_dirty_run(units, alignment_units);
  return run.unit == 0 && join_kept(current_tick(), 0) ? take_dirty_run(units, alignment_units) : run;
}

Run find_free_run(std::uint32_t units, std::uint32_t alignment_units) noexcept {
  const LockGuard locked = guard();
  const Run run = find_dirty_run(units, alignment_units);
  if (run.unit != 0) return run;
  const std::uint32_t part = units == 1 && alignment_units == 1 ? take_short().unit : 0;
  return part != 0 ? Run{part, false} : take_clean_run(units, alignment_units);
}

void raise_reached(std::uint32_t end) noexcept {
  std::uint32_t reached = source.reached.load(std::memory_order_relaxed);
  while (reached < end && !source.reached.compare_exchange_weak(reached, end, std::memory_order_relaxed)) {
  }
}

Run grow_aligned(std::uint32_t units, std::uint32_t alignment_units) noexcept {
  const std::uint64_t needed = std::uint64_t{units} + alignment_units - 1;
  if (needed > source.span_units) return {0, false};
  const Run grown = grow_for(static_cast<std::uint32_t>(needed));
  if (grown.unit == 0 || alignment_units == 1) return grown;
  const std::uint32_t unit = aligned_unit(grown.unit, alignment_units);
  const std::uint32_t before = unit - grown.unit;
  const std::uint32_t after = static_cast<std::uint32_t>(needed) - units - before;
  const LockGuard locked = guard();
  if (before != 0) insert_joined(grown.unit, before, false);
  if (after != 0) insert_joined(unit + units, after, false);
  return {unit, true};
}

// False: no purge has ended since.
bool await_purge(std::uint32_t purges_before) noexcept {
  constexpr int most_looks = 2000;
  constexpr std::uint64_t look_ns = 50'000;
  for (int i = 0; i < most_looks; ++i) {
    const std::uint32_t purges = source.purges.load(std::memory_order_acquire);
    if (purges % 2 == 0) return purges != purges_before;
    platform::futex_wait(source.purges, purges, look_ns);
  }
  return true;
}

void change_awaiting(std::uint32_t by) noexcept {
  const LockGuard locked = guard();
  source.awaiting += by;
}

bool join_some_short() noexcept {
  constexpr std::uint32_t most_joined = 4096;
  const LockGuard locked = guard();
  return join_short(current_tick(), 0, most_joined);
}

// Under the lock.
std::uint64_t used_units() noexcept {
  const std::uint64_t committed = source.frontier.load(std::memory_order_relaxed) - source.first_unit;
  return committed - source.dirty_units - short_units.count - source.clean_units - source.set_aside_units -
         source.unmapped_units;
}

// Free memory that was used before is ample. Under the lock.
bool is_dirty_ample() noexcept { return source.dirty_units * surplus_share > used_units(); }

// Under the lock. A unit of the lot where a clean one is better, or nothing else is free.
Run take_unit(UnitLot* lot, bool prefers_clean) noexcept {
  Run run{0, false};
  if (prefers_clean && lot->unit == lot->end) *lot = take_clean_lot();
  const bool is_lot_used = lot->unit == lot->end;
  if (is_lot_used || !prefers_clean) run = is_lot_used ? find_dirty_run(1, 1) : take_dirty_run(1, 1);
  if (run.unit == 0 && is_lot_used) *lot = take_clean_lot();
  if (run.unit == 0 && lot->unit != lot->end) {
    run = {lot->unit++, true};
    source.set_aside_units = source.set_aside_units - 1;
  }
  return run;
}

Run find_across_runs(std::uint32_t units) noexcept {
  const LockGuard locked = guard();
  return take_across(units);
}

Run find_or_grow(std::uint32_t units, std::uint32_t alignment_units) noexcept {
  Run run = find_free_run(units, alignment_units);
  if (run.unit == 0 && map_again(units + alignment_units - 1)) run = find_free_run(units, alignment_units);
  return run.unit != 0 ? run : grow_aligned(units, alignment_units);
}

// In hardened mode the region grows in short pieces between gaps, which never join to a long run. So short
// free runs are unmapped, and the region grows by a long one.
[[gnu::cold, gnu::noinline]] Run grow_instead(std::uint32_t units, std::uint32_t alignment_units) noexcept {
  if (units > unit_frontier() - source.first_unit) return {0, false};
  // Their lines are mapped as well, a MiB at a time.
  constexpr std::uint32_t units_of_line_unit = unit_bytes / line_bytes;
  constexpr std::uint32_t more = (std::uint32_t{1} << 20) / unit_bytes;
  const std::uint32_t whole = units + alignment_units - 1;
  give_up_free_runs(whole + whole / units_of_line_unit + more);
  return grow_aligned(units, alignment_units);
}

void hand_out(Run run, std::uint32_t units) noexcept {
  raise_reached(run.unit + units);
  restart_maintenance();
}

}  // namespace

Run allocate_run(std::uint32_t units, std::uint32_t alignment_units) noexcept {
  const std::uint32_t purges = source.purges.load(std::memory_order_acquire);
  const std::uint32_t frontier = source.frontier.load(std::memory_order_relaxed);
  Run run = find_or_grow(units, alignment_units);
  if (run.unit == 0) {
    // Before failing: wait for a run whose pages are being returned, which is in no bin,
    // and try adjacent clean and dirty runs.
    change_awaiting(1);
    const bool has_purged = await_purge(purges);
    if (join_some_short() || has_purged) run = find_or_grow(units, alignment_units);
    if (run.unit == 0 && alignment_units == 1) run = find_across_runs(units);
    change_awaiting(0 - 1U);
    if (run.unit == 0 && settings.is_hardened) run = grow_instead(units, alignment_units);
  }
  if (run.unit == 0) return run;
  hand_out(run, units);
  if (run.unit + units > frontier && !is_start(frontier)) start_due_maintenance();
  return run;
}

Run allocate_unit(UnitLot* lot) noexcept {
  Run run{0, false};
  {
    const LockGuard locked = guard();
    run = take_unit(lot, false);
  }
  if (run.unit == 0) return allocate_run(1);
  hand_out(run, 1);
  return run;
}

Run allocate_first_unit(UnitLot* lot, std::uint32_t size_class) noexcept {
  Run run{0, false};
  ShortUnit part{0, 0};
  {
    const LockGuard locked = guard();
    const bool is_short = stays_short(size_class);
    if (is_short) part = take_short();
    if (part.unit == 0) run = take_unit(lot, is_short);
  }
  if (part.unit != 0) {
    std::memset(memory_of(part.unit), 0, part.used_bytes);
    run = {part.unit, true};
  }
  if (run.unit == 0) return allocate_run(1);
  hand_out(run, 1);
  return run;
}

Run allocate_run_with_room(std::uint32_t units, Growth growth) noexcept {
  // Blocks that grow leave their earlier places behind. Unless such places are few they are used before
  // clean memory, though such a block is then copied once more: a copy costs no more than the faults of new
  // pages. One that grows by half or more is copied seldom, so it takes the shortest place, whatever is
  // behind: what a block that stops growing has taken of a longer one would be too short for the next.
  constexpr std::uint32_t most_packed_units = 16;
  constexpr std::uint32_t most_fitted_units = (std::uint32_t{4} << 20) / unit_bytes;
  constexpr std::uint32_t few_share = 64;
  if (is_start(source.frontier.load(std::memory_order_relaxed))) end_start();
  Run run{0, false};
  {
    const LockGuard locked = guard();
    const bool is_few = source.dirty_units * few_share <= used_units();
    const bool is_fitted = growth == Growth::by_half_or_more && units <= most_fitted_units;
    if (is_few || !is_fitted) run = take_run_with_room(units, is_few || units > most_packed_units);
  }
  if (run.unit == 0) return allocate_run(units);
  raise_reached(run.unit + units);
  start_due_maintenance();
  return run;
}

Run allocate_clean_run(std::uint32_t units) noexcept {
  std::uint32_t found = 0;
  {
    const LockGuard locked = guard();
    found = source.clean.find(units);
    if (found != 0) carve_run(found, found, units);
  }
  if (found == 0) return allocate_run(units);
  hand_out({found, true}, units);
  return {found, true};
}

Run take_run(std::uint32_t units) noexcept {
  const Run run = find_free_run(units, 1);
  if (run.unit != 0) raise_reached(run.unit + units);
  return run;
}

std::uint32_t reached_units() noexcept { return source.reached.load(std::memory_order_relaxed); }

bool has_outgrown_start() noexcept {
  constexpr std::uint32_t least_units = 128;
  if (source.has_outgrown_start) return true;
  const std::uint32_t reached = source.reached.load(std::memory_order_relaxed);
  if (reached == 0 || reached - source.first_unit < least_units + source.set_aside_units) return false;
  source.has_outgrown_start = true;
  return true;
}

void start_due_maintenance() noexcept {
  if (has_outgrown_start()) start_maintenance();
}

namespace {

// Under the lock.
void add_dirty(std::uint32_t unit, std::uint32_t units) noexcept {
  if (source.recent.count == RecentRuns::capacity) join_oldest_recent();
  add_recent(unit, units);
}

}  // namespace

void free_unit_of_slab(Run run, std::uint32_t used_bytes, std::uint32_t size_class) noexcept {
  note_waiting_memory();
  const LockGuard locked = guard();
  if (!add_short(run, used_bytes, size_class)) add_dirty(run.unit, 1);
}

void free_run(std::uint32_t unit, std::uint32_t units, bool is_dirty_now) noexcept {
  if (is_dirty_now) note_waiting_memory();
  const LockGuard locked = guard();
  if (!is_dirty_now) return insert_joined(unit, units, false);
  add_dirty(unit, units);
}

bool extend_run(std::uint32_t unit, std::uint32_t units, std::uint32_t more) noexcept {
  const LockGuard locked = guard();
  const std::uint32_t after = unit + units;
  // The next run may be a recent one.
  if (free_units_at(after) < more) {
    join_recent();
    join_kept(current_tick(), 0);
  }
  // A clean run may follow a dirty one, or the other way round.
  const std::uint32_t first = std::min(free_units_at(after), more);
  if (first == 0) return false;
  if (first < more && free_units_at(after + first) < more - first) return false;
  carve_across(after, after, more);
  return true;
}

namespace {

// The run is in no bin while its pages are returned.
void drop_run(std::uint32_t unit, std::uint32_t units) noexcept {
  drop_pages(memory_of(unit), std::size_t{units} * unit_bytes);
  counters::add(counters_page->heap.purged_bytes, std::size_t{units} * unit_bytes);
  free_run(unit, units, false);
  source.purges.fetch_add(1, std::memory_order_release);
}

}  // namespace

std::uint32_t purge_oldest_run(std::uint16_t now, std::uint16_t least_age,
                               std::uint32_t most_units) noexcept {
  constexpr std::uint32_t most_joined = 32;
  std::uint32_t unit = 0;
  std::uint32_t units = 0;
  {
    const LockGuard locked = guard();
    const auto is_due = [&](std::uint32_t first) {
      return static_cast<std::uint16_t>(now - line_of(first)->stamp) >= least_age;
    };
    while (source.recent.count != 0 && is_due(source.recent.first_units[0])) join_oldest_recent();
    join_kept(now, least_age);
    join_short(now, least_age, most_joined);
    const std::uint32_t oldest = source.oldest;
    if (oldest == 0 || !is_due(oldest) || source.awaiting != 0) return 0;
    units = std::min<std::uint32_t>(line_of(oldest)->units, most_units);
    // The run's end: blocks are allocated at its beginning, and a clean piece between two of them would be
    // useless.
    unit = oldest + line_of(oldest)->units - units;
    carve_run(oldest, unit, units);
    source.purges.fetch_add(1, std::memory_order_release);
  }
  drop_run(unit, units);
  return units;
}

bool has_dirty_runs() noexcept {
  if (has_kept_runs()) return true;
  const LockGuard locked = guard();
  return source.dirty_units != 0 || short_units.count != 0;
}

bool has_surplus() noexcept {
  const LockGuard locked = guard();
  return is_dirty_ample();
}

std::size_t most_kept_dirty_bytes(std::size_t freed_bytes) noexcept {
  constexpr std::size_t always_bytes = std::size_t{64} << 20;
  const LockGuard locked = guard();
  const std::size_t used_bytes = used_units() * unit_bytes;
  // The block being freed still counts as used; exclude it.
  const std::size_t own_bytes = freed_bytes > always_bytes ? std::min(freed_bytes, used_bytes) : 0;
  return std::max(always_bytes, kept_share * (used_bytes - own_bytes));
}

std::size_t dirty_bytes() noexcept { return source.dirty_units.load(std::memory_order_relaxed) * unit_bytes; }
std::size_t short_bytes() noexcept {
  const LockGuard locked = guard();
  return short_units.bytes;
}
std::size_t committed_bytes() noexcept {
  return std::size_t{unit_frontier() - source.first_unit - source.unmapped_units} * unit_bytes;
}
Lock& page_source_lock() noexcept { return source.lock; }
void forget_waiting_calls() noexcept {
  source.awaiting = 0;
  source.is_growing_ahead.store(false, std::memory_order_relaxed);
}

}  // namespace heapwright::heap
