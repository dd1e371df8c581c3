// SPDX-License-Identifier: MIT
// length: growth, its limits and what may be refused decide together where a run comes from
#include "heap/page_source.hpp"

#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <bit>

#include "heap/counting.hpp"
#include "heap/free_runs.hpp"
#include "heap/maintenance.hpp"
#include "heap/system_pages.hpp"
#include "platform/raw_syscall.hpp"

namespace heapwright::heap {

constinit Region region{};

namespace {

constexpr std::size_t full_span_bytes = std::size_t{1} << 40;
constexpr std::size_t least_span_bytes = std::size_t{1} << 26;
// A growth costs as much as many calls, so the first one is enough for most
// programs; mapped piecemeal, under a limit, every page of it counts.
constexpr std::uint32_t least_growth_units = 512;
constexpr std::uint32_t least_mapped_units = 64;
constexpr std::uint32_t most_growth_units = 2048;
static_assert(bin_of(full_span_bytes >> unit_shift) < bin_count);

bool make_range_writable(std::uint32_t unit, std::uint32_t units) noexcept {
  char* memory = memory_of(unit);
  const std::size_t bytes = std::size_t{units} * unit_bytes;
  if (!source.is_reserved) return map_at(memory, bytes);
  // Lines first, and one more, which joining looks at; also those of units that another
  // call is about to add before these, so that all below lines_end can be read.
  // Whole MiB, so that most growths find theirs done; doing it twice is harmless.
  constexpr std::uintptr_t line_step = std::uintptr_t{1} << 20;
  const auto last_line = reinterpret_cast<std::uintptr_t>(line_of(unit + units + 1));
  const std::uintptr_t end =
      std::min(region.base + (last_line - region.base + line_step - 1) / line_step * line_step,
               reinterpret_cast<std::uintptr_t>(memory_of(source.first_unit)));
  std::uintptr_t seen = source.lines_end.load(std::memory_order_acquire);
  if (seen < end) {
    if (!make_writable(reinterpret_cast<void*>(seen), end - seen)) return false;
    while (seen < end && !source.lines_end.compare_exchange_weak(seen, end, std::memory_order_release)) {
    }
  }
  return make_writable(memory, bytes);
}

// Under a limit of the address space an eighth of it is left to stacks and
// mappings of others.
bool is_beyond_limit(std::uint32_t end) noexcept {
  const std::size_t limit = source.is_reserved ? 0 : address_space_limit_bytes();
  if (limit == 0) return false;
  return std::size_t{end - source.first_unit} * unit_bytes > limit - limit / 8;
}

// Moves the frontier up by `units`, at `from`; where `from` is not 0, only if
// it is there. The range is the caller's alone.
bool claim_frontier(std::uint32_t units, std::uint32_t* from) noexcept {
  std::uint32_t old = source.frontier.load(std::memory_order_relaxed);
  do {
    if (*from != 0 && *from != old) return false;
    if (units > source.span_units - old || is_beyond_limit(old + units)) return false;
  } while (!source.frontier.compare_exchange_weak(old, old + units, std::memory_order_relaxed));
  *from = old;
  return true;
}

void raise_used(std::size_t bytes) noexcept {
  std::size_t seen = region.used_bytes.load(std::memory_order_relaxed);
  while (seen < bytes && !region.used_bytes.compare_exchange_weak(seen, bytes, std::memory_order_release)) {
  }
}

// What cannot be made writable is given back, or left out for good when the
// frontier has moved on meanwhile.
Run grow(std::uint32_t wanted, std::uint32_t growth, std::uint32_t from = 0) noexcept {
  if (!claim_frontier(growth, &from)) return {0, false};
  if (!make_range_writable(from, growth)) {
    std::uint32_t expected = from + growth;
    source.frontier.compare_exchange_strong(expected, from, std::memory_order_relaxed);
    return {0, false};
  }
  raise_used(std::size_t{from + growth} << unit_shift);
  counters::add(counters_page->page.committed_bytes, growth * unit_bytes);
  count_reason(counters::Reason::region_grown);
  if (growth > wanted) {
    const LockGuard locked = guard();
    insert_joined(from + wanted, growth - wanted, false);
  }
  return {from, true};
}

// A limit that the program set on itself after the start: what is reserved
// ahead would count against it, so it is given up and later mapped piecemeal.
void obey_late_limit() noexcept {
  const std::size_t limit = address_space_limit_bytes();
  if (limit == 0 || !source.is_reserved || limit >= region.span_bytes) return;
  const std::uint32_t end = source.frontier.load(std::memory_order_relaxed);
  const auto span = std::min<std::size_t>(source.span_units, end + (limit >> unit_shift));
  auto* lines_end =
      reinterpret_cast<char*>(region.base + (span * line_bytes + unit_bytes) / unit_bytes * unit_bytes);
  char* const first_memory = memory_of(source.first_unit);
  if (!make_writable(reinterpret_cast<void*>(region.base),
                     static_cast<std::size_t>(lines_end - memory_of(0))))
    return;
  source.lines_end.store(reinterpret_cast<std::uintptr_t>(lines_end), std::memory_order_release);
  source.is_reserved = false;
  source.span_units = static_cast<std::uint32_t>(span);
  unreserve(lines_end, static_cast<std::size_t>(first_memory - lines_end));
  unreserve(memory_of(end), region.span_bytes - (std::size_t{end} << unit_shift));
}

// What is free below the frontier is too short, but with what comes behind it
// long enough: where every page that can be written counts, nothing is left
// unused between long blocks.
Run grow_behind_rest(std::uint32_t wanted, std::uint32_t step) noexcept {
  const std::uint32_t end = unit_frontier();
  std::uint32_t rest = 0;
  bool is_zeroed = false;
  {
    const LockGuard locked = guard();
    rest = free_run_before(end);
    if (rest == 0) return {0, false};
    is_zeroed = !is_dirty_run(line_of(rest));
    carve_run(rest, rest, std::min(wanted, end - rest));
  }
  if (end - rest >= wanted) return {rest, is_zeroed};  // in a bin with shorter ones
  const std::uint32_t missing = wanted - (end - rest);
  Run grown = grow(missing, std::max(missing, step), end);
  if (grown.unit == 0 && missing < step) grown = grow(missing, missing, end);
  if (grown.unit != 0) return {rest, is_zeroed};
  const LockGuard locked = guard();
  insert_joined(rest, end - rest, !is_zeroed);
  return {0, false};
}

Run grow_for(std::uint32_t units) noexcept {
  obey_late_limit();
  const std::uint32_t committed = source.frontier.load(std::memory_order_relaxed) - source.first_unit;
  const std::uint32_t least = source.is_reserved ? least_growth_units : least_mapped_units;
  const std::uint32_t step = std::clamp(committed / 2, least, most_growth_units);
  Run run = grow_behind_rest(units, step);
  if (run.unit == 0) run = grow(units, std::max(units, step));
  if (run.unit == 0 && units < step) run = grow(units, units);
  return run;
}

bool reserve_span(std::size_t span_bytes) noexcept {
  // Aligned, so that aligned unit numbers are aligned addresses.
  const std::size_t alignment = std::min(max_alignment_bytes, span_bytes);
  void* memory = reserve(span_bytes + alignment);
  if (memory == nullptr) return false;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t base = (begin + alignment - 1) & ~(alignment - 1);
  unreserve(memory, base - begin);
  unreserve(reinterpret_cast<void*>(base + span_bytes), begin + alignment - base);
  region.base = base;
  return true;
}

// Under a limit nothing is reserved ahead: a place far from where the kernel
// maps on its own is found, and mapped piecemeal.
bool place_span(std::size_t span_bytes) noexcept {
  constexpr std::uintptr_t first_place = std::uintptr_t{1} << 44;
  for (std::uintptr_t place = 0; place < 16; ++place) {
    const std::uintptr_t base = first_place + place * full_span_bytes;
    if (!map_at(reinterpret_cast<void*>(base), span_bytes / (unit_bytes / line_bytes))) continue;
    region.base = base;
    source.lines_end.store(base + span_bytes / (unit_bytes / line_bytes), std::memory_order_release);
    return true;
  }
  return false;
}

}  // namespace

bool initialize_page_source() noexcept {
  const std::size_t limit = address_space_limit_bytes();
  std::size_t span_bytes = full_span_bytes;
  if (limit != 0 && limit < full_span_bytes) {
    span_bytes = std::max(std::bit_ceil(limit), least_span_bytes);
    if (!place_span(span_bytes)) return false;
  } else {
    while (!reserve_span(span_bytes)) {
      span_bytes /= 2;
      if (span_bytes < least_span_bytes) return false;
    }
    source.is_reserved = true;
  }
  source.span_units = static_cast<std::uint32_t>(span_bytes >> unit_shift);
  source.first_unit = static_cast<std::uint32_t>(source.span_units / (unit_bytes / line_bytes));
  source.frontier.store(source.first_unit, std::memory_order_relaxed);
  region.span_bytes = span_bytes;
  if (!source.is_reserved) return true;
  // The lines of the lines: no block has them, but free() of a wild pointer reads them.
  const std::size_t own_bytes = source.first_unit * line_bytes;
  if (!make_writable(reinterpret_cast<void*>(region.base), own_bytes)) return false;
  source.lines_end.store(region.base + own_bytes, std::memory_order_release);
  return true;
}

namespace {

Run find_free_run(std::uint32_t units, std::uint32_t alignment_units) noexcept {
  const LockGuard locked = guard();
  return take_free_run(units, alignment_units);
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
  const std::uint32_t unit = (grown.unit + alignment_units - 1) / alignment_units * alignment_units;
  const std::uint32_t before = unit - grown.unit;
  const std::uint32_t after = static_cast<std::uint32_t>(needed) - units - before;
  const LockGuard locked = guard();
  if (before != 0) insert_joined(grown.unit, before, false);
  if (after != 0) insert_joined(unit + units, after, false);
  return {unit, true};
}

// False: there has been none since.
bool await_purge(std::uint32_t purges_before) noexcept {
  constexpr int most_looks = 2000;
  constexpr long look_ns = 50'000;
  for (int i = 0; i < most_looks; ++i) {
    const std::uint32_t purges = source.purges.load(std::memory_order_acquire);
    if (purges % 2 == 0) return purges != purges_before;
    const timespec time{0, look_ns};
    platform::raw_syscall(SYS_nanosleep, platform::raw_argument(&time), 0);
  }
  return true;
}

void change_awaiting(std::uint32_t by) noexcept {
  const LockGuard locked = guard();
  source.awaiting += by;
}

Run find_across_runs(std::uint32_t units) noexcept {
  const LockGuard locked = guard();
  return take_across(units);
}

[[gnu::hot]] Run find_or_grow(std::uint32_t units, std::uint32_t alignment_units) noexcept {
  const Run run = find_free_run(units, alignment_units);
  return run.unit != 0 ? run : grow_aligned(units, alignment_units);
}

void hand_out(Run run, std::uint32_t units) noexcept {
  raise_reached(run.unit + units);
  restart_maintenance();
}

}  // namespace

[[gnu::hot]] Run allocate_run(std::uint32_t units, std::uint32_t alignment_units) noexcept {
  const std::uint32_t purges = source.purges.load(std::memory_order_acquire);
  const std::uint32_t frontier = source.frontier.load(std::memory_order_relaxed);
  Run run = find_or_grow(units, alignment_units);
  if (run.unit == 0) {
    // Before memory is refused: a run whose pages are being given back is in
    // no bin and is waited for, and clean and dirty runs may do together.
    change_awaiting(1);
    if (await_purge(purges)) run = find_or_grow(units, alignment_units);
    if (run.unit == 0 && alignment_units == 1) run = find_across_runs(units);
    change_awaiting(0 - 1U);
  }
  if (run.unit == 0) return run;
  hand_out(run, units);
  if (run.unit + units > frontier) start_due_maintenance();
  return run;
}

[[gnu::hot]] Run allocate_unit(UnitLot* lot) noexcept {
  Run run{0, false};
  {
    const LockGuard locked = guard();
    run = take_dirty_run(1, 1);
    if (run.unit == 0 && lot->unit == lot->end) *lot = take_clean_lot();
    if (run.unit == 0 && lot->unit != lot->end) {
      run = {lot->unit++, true};
      source.set_aside_units = source.set_aside_units - 1;
    }
  }
  if (run.unit == 0) return allocate_run(1);
  hand_out(run, 1);
  return run;
}

Run allocate_run_with_room(std::uint32_t units) noexcept {
  Run run{0, false};
  {
    const LockGuard locked = guard();
    run = take_run_with_room(units);
  }
  if (run.unit == 0) return allocate_run(units);
  raise_reached(run.unit + units);
  start_due_maintenance();
  return run;
}

void expect_run() noexcept {
  __builtin_prefetch(&source.lock, 1);
  __builtin_prefetch(&source.recent, 1);
  __builtin_prefetch(&source.dirty_units, 1);
}

Run take_run(std::uint32_t units) noexcept {
  const Run run = find_free_run(units, 1);
  if (run.unit != 0) raise_reached(run.unit + units);
  return run;
}

void start_due_maintenance() noexcept {
  constexpr std::uint32_t least_units = 128;
  const std::uint32_t reached = source.reached.load(std::memory_order_relaxed);
  if (reached - source.first_unit >= least_units + source.set_aside_units) start_maintenance();
}

void free_run(std::uint32_t unit, std::uint32_t units, bool is_dirty_now) noexcept {
  const LockGuard locked = guard();
  if (!is_dirty_now) return insert_joined(unit, units, false);
  if (source.recent.count == RecentRuns::capacity) join_oldest_recent();
  add_recent(unit, units);
}

bool extend_run(std::uint32_t unit, std::uint32_t units, std::uint32_t more) noexcept {
  const LockGuard locked = guard();
  const std::uint32_t after = unit + units;
  // What follows may be one of these.
  if (free_units_at(after) < more && source.recent.count != 0) join_recent();
  // A clean run may follow a dirty one, or the other way round.
  const std::uint32_t first = std::min(free_units_at(after), more);
  if (first == 0) return false;
  if (first < more && free_units_at(after + first) < more - first) return false;
  carve_across(after, more);
  return true;
}

namespace {

// Under the lock.
std::uint64_t used_units() noexcept {
  const std::uint64_t committed = source.frontier.load(std::memory_order_relaxed) - source.first_unit;
  return committed - source.dirty_units - source.clean_units - source.set_aside_units;
}

}  // namespace

FreeTail free_tail() noexcept {
  const LockGuard locked = guard();
  const std::uint32_t frontier = unit_frontier();
  const std::uint32_t unit = free_run_before(frontier);
  if (unit == 0 || is_dirty_run(line_of(unit))) return {};
  return {unit, frontier, static_cast<std::uint32_t>(used_units()), source.lot_units_taken};
}

namespace {

// A run whose pages are being given back is in no bin.
void drop_run(std::uint32_t unit, std::uint32_t units) noexcept {
  drop_pages(memory_of(unit), std::size_t{units} * unit_bytes);
  counters::add(counters_page->page.purged_bytes, std::size_t{units} * unit_bytes);
  free_run(unit, units, false);
  source.purges.fetch_add(1, std::memory_order_release);
}

}  // namespace

bool drop_clean(std::uint32_t unit, std::uint32_t end) noexcept {
  {
    const LockGuard locked = guard();
    const std::uint32_t tail = free_run_before(unit_frontier());
    if (tail == 0 || is_dirty_run(line_of(tail)) || tail >= end) return true;
    if (source.awaiting != 0) return false;
    unit = std::max(unit, tail);
    carve_run(tail, unit, end - unit);
    source.purges.fetch_add(1, std::memory_order_release);
  }
  drop_run(unit, end - unit);
  return true;
}

bool purge_oldest_run(std::uint16_t now, std::uint16_t least_age, std::uint32_t most_units) noexcept {
  std::uint32_t unit = 0;
  std::uint32_t units = 0;
  {
    const LockGuard locked = guard();
    const auto is_due = [&](std::uint32_t first) {
      return static_cast<std::uint16_t>(now - line_of(first)->stamp) >= least_age;
    };
    while (source.recent.count != 0 && is_due(source.recent.first_units[0])) join_oldest_recent();
    unit = source.oldest;
    if (unit == 0 || !is_due(unit) || source.awaiting != 0) return false;
    units = std::min<std::uint32_t>(line_of(unit)->units, most_units);
    carve_run(unit, unit, units);
    source.purges.fetch_add(1, std::memory_order_release);
  }
  drop_run(unit, units);
  return true;
}

bool has_surplus() noexcept {
  const LockGuard locked = guard();
  return source.dirty_units * surplus_share > used_units();
}

std::uint16_t current_tick() noexcept { return source.tick.load(std::memory_order_relaxed); }
void set_current_tick(std::uint16_t tick) noexcept { source.tick.store(tick, std::memory_order_relaxed); }

std::size_t dirty_bytes() noexcept {
  const LockGuard locked = guard();
  return source.dirty_units * unit_bytes;
}
std::size_t committed_bytes() noexcept {
  return std::size_t{unit_frontier() - source.first_unit} * unit_bytes;
}
std::uint32_t unit_frontier() noexcept {
  const std::uintptr_t lines_end = source.lines_end.load(std::memory_order_acquire);
  const std::uint32_t frontier = source.frontier.load(std::memory_order_acquire);
  return static_cast<std::uint32_t>(
      std::min<std::uintptr_t>(frontier, (lines_end - region.base) / line_bytes));
}
std::uint32_t first_unit() noexcept { return source.first_unit; }

void lock_page_source() noexcept { source.lock.lock(counters_page->page.page_source_lock); }
void unlock_page_source() noexcept { source.lock.unlock(); }
void forget_waiting_calls() noexcept { source.awaiting = 0; }

}  // namespace heapwright::heap
