// SPDX-License-Identifier: MIT
// length: free runs by length, age and address, and their invariants
#include "heap/pages/free_runs.hpp"

#include <algorithm>

#include "heap/base/waiting.hpp"

namespace heapwright::heap {

constinit PageSource source{};

namespace {

// A block that has grown is likely to grow again: it moves to a run of this many times
// its length.
constexpr std::uint32_t growth_room = 4;

void mark_ends(std::uint32_t unit, std::uint32_t units, UnitKind first, UnitKind last) noexcept {
  UnitLine* head = line_of(unit);
  head->kind = first;
  head->units = units;
  if (units > 1) {
    UnitLine* tail = line_of(unit + units - 1);
    tail->kind = last;
    tail->units = units - 1;
  }
}

void insert_run(std::uint32_t unit, std::uint32_t units, bool dirty) noexcept {
  mark_ends(unit, units, UnitKind::free_run, UnitKind::free_run_last);
  UnitLine* line = line_of(unit);
  line->flags = dirty ? is_dirty : 0;
  (dirty ? source.dirty : source.clean).insert(unit);
  if (!dirty) {
    source.clean_units += units;
    return;
  }
  line->stamp = current_tick();
  line->second_next = 0;
  line->second_prev = source.newest;
  (source.newest != 0 ? line_of(source.newest)->second_next : source.oldest) = unit;
  source.newest = unit;
  source.dirty_units.fetch_add(units, std::memory_order_relaxed);
}

void remove_run(std::uint32_t unit) noexcept {
  UnitLine* line = line_of(unit);
  const bool dirty = is_dirty_run(line);
  (dirty ? source.dirty : source.clean).remove(unit);
  if (dirty) {
    (line->second_next != 0 ? line_of(line->second_next)->second_prev : source.newest) = line->second_prev;
    (line->second_prev != 0 ? line_of(line->second_prev)->second_next : source.oldest) = line->second_next;
    source.dirty_units.fetch_sub(line->units, std::memory_order_relaxed);
  } else {
    source.clean_units -= line->units;
  }
  mark_ends(unit, line->units, UnitKind::inside, UnitKind::inside);
}

}  // namespace

std::uint32_t free_run_before(std::uint32_t unit) noexcept {
  const UnitLine* before = line_of(unit - 1);
  if (before->kind == UnitKind::free_run_last) return unit - 1 - before->units;
  return before->kind == UnitKind::free_run && before->units == 1 ? unit - 1 : 0;
}

std::uint32_t free_units_at(std::uint32_t unit) noexcept {
  if (unit >= source.frontier.load(std::memory_order_relaxed)) return 0;
  const UnitLine* line = line_of(unit);
  return line->kind == UnitKind::free_run ? line->units : 0;
}

void insert_joined(std::uint32_t unit, std::uint32_t units, bool dirty) noexcept {
  const std::uint32_t after = unit + units;
  if (after < source.frontier.load(std::memory_order_relaxed)) {
    const UnitLine* next = line_of(after);
    if (next->kind == UnitKind::free_run && is_dirty_run(next) == dirty) {
      units += next->units;
      remove_run(after);
    }
  }
  const std::uint32_t joined = free_run_before(unit);
  if (joined != 0 && is_dirty_run(line_of(joined)) == dirty) {
    units += line_of(joined)->units;
    remove_run(joined);
    unit = joined;
  }
  insert_run(unit, units, dirty);
}

namespace {

// The rest of a carved run keeps the run's age and its place in the list, which is ordered by age.
void move_newest_behind(std::uint32_t older, std::uint16_t stamp) noexcept {
  const std::uint32_t unit = source.newest;
  UnitLine* line = line_of(unit);
  line->stamp = stamp;
  if (line->second_prev == older) return;
  source.newest = line->second_prev;
  line_of(source.newest)->second_next = 0;
  std::uint32_t& next = older != 0 ? line_of(older)->second_next : source.oldest;
  line->second_prev = older;
  line->second_next = next;
  line_of(next)->second_prev = unit;
  next = unit;
}

}  // namespace

void carve_run(std::uint32_t free_unit, std::uint32_t unit, std::uint32_t units) noexcept {
  const std::uint32_t end = free_unit + line_of(free_unit)->units;
  const bool dirty = is_dirty_run(line_of(free_unit));
  const std::uint16_t stamp = line_of(free_unit)->stamp;
  const std::uint32_t older = line_of(free_unit)->second_prev;
  remove_run(free_unit);
  const auto keep = [&](std::uint32_t first, std::uint32_t behind) {
    if (first == behind) return;
    insert_run(first, behind - first, dirty);
    if (dirty) move_newest_behind(older, stamp);
  };
  keep(free_unit, unit);
  keep(unit + units, end);
}

void add_recent(std::uint32_t unit, std::uint32_t units) noexcept {
  UnitLine* line = line_of(unit);
  line->units = units;
  line->stamp = current_tick();
  source.recent.add(unit);
  source.dirty_units.fetch_add(units, std::memory_order_relaxed);
}

namespace {

std::uint32_t take_recent(std::uint32_t units) noexcept {
  const std::uint32_t unit = source.recent.take(units);
  if (unit != 0) source.dirty_units.fetch_sub(units, std::memory_order_relaxed);
  return unit;
}

}  // namespace

void join_oldest_recent() noexcept {
  const std::uint32_t unit = source.recent.take_at(0);
  const std::uint32_t units = line_of(unit)->units;
  const std::uint16_t stamp = line_of(unit)->stamp;
  source.dirty_units.fetch_sub(units, std::memory_order_relaxed);
  insert_joined(unit, units, true);
  line_of(source.newest)->stamp = stamp;
}

void join_recent() noexcept {
  while (source.recent.count != 0) join_oldest_recent();
}

namespace {

// `found` is at least units + alignment_units - 1 long, or 0.
std::uint32_t carve_aligned(std::uint32_t found, std::uint32_t units,
                            std::uint32_t alignment_units) noexcept {
  if (found == 0) return 0;
  const std::uint32_t unit = aligned_unit(found, alignment_units);
  carve_run(found, unit, units);
  return unit;
}

}  // namespace

Run take_dirty_run(std::uint32_t units, std::uint32_t alignment_units) noexcept {
  if (alignment_units == 1) {
    const std::uint32_t recent = take_recent(units);
    if (recent != 0) return {recent, false};
  }
  const std::uint32_t searched = units + alignment_units - 1;
  std::uint32_t found = source.dirty.find(searched);
  if (found == 0 && source.recent.count != 0) {
    join_recent();
    found = source.dirty.find(searched);
  }
  return {carve_aligned(found, units, alignment_units), false};
}

namespace {

constexpr std::uint32_t least_mixed_units = (std::uint32_t{16} << 20) / unit_bytes;

// From the free run `middle` and its free neighbours, using as much of `middle` as possible. Unit 0: too
// short in total.
Run take_around(std::uint32_t middle, std::uint32_t units) noexcept {
  constexpr int most_neighbours = 32;
  if (middle == 0) return {0, false};
  std::uint32_t end = middle;
  for (int i = 0; i < most_neighbours && free_units_at(end) != 0; ++i) {
    count_steps();
    end += free_units_at(end);
  }
  std::uint32_t begin = middle;
  for (int i = 0; i < most_neighbours && free_run_before(begin) != 0; ++i) {
    count_steps();
    begin = free_run_before(begin);
  }
  if (end - begin < units) return {0, false};
  const std::uint32_t unit = std::min(middle, end - units);
  while (begin + free_units_at(begin) <= unit) {
    count_steps();
    begin += free_units_at(begin);
  }
  carve_across(begin, unit, units);
  return {unit, false};
}

}  // namespace

// Long blocks leave adjacent dirty and clean runs when the pages of older ones are returned. A partly dirty
// range costs fewer page faults than a clean one and leaves less dirty memory.
Run take_clean_run(std::uint32_t units, std::uint32_t alignment_units) noexcept {
  const bool may_mix = alignment_units == 1 && units >= least_mixed_units;
  if (may_mix) {
    const Run run = take_around(source.dirty.find_longest(), units);
    if (run.unit != 0) return run;
  }
  const std::uint32_t found = source.clean.find(units + alignment_units - 1);
  if (found == 0 && may_mix) return take_around(source.clean.find_longest(), units);
  return {carve_aligned(found, units, alignment_units), true};
}

UnitLot take_clean_lot() noexcept {
  const std::uint32_t unit = source.clean.find(1);
  if (unit == 0) return {0, 0};
  const bool is_shared = counters_page->heap.threads.load(std::memory_order_relaxed) > 1;
  const std::uint32_t most = is_shared && source.limit_bytes == 0 ? lot_units - unit % lot_units : 1;
  const std::uint32_t units = std::min<std::uint32_t>(most, line_of(unit)->units);
  carve_run(unit, unit, units);
  source.set_aside_units = source.set_aside_units + units;
  return {unit, unit + units};
}

void carve_across(std::uint32_t free_unit, std::uint32_t unit, std::uint32_t units) noexcept {
  const std::uint32_t end = unit + units;
  while (unit != end) {
    count_steps();
    const std::uint32_t behind = std::min<std::uint32_t>(free_unit + line_of(free_unit)->units, end);
    carve_run(free_unit, unit, behind - unit);
    free_unit = unit = behind;
  }
}

// A range with free units behind it, preferably where a grown block was freed before.
// The first one begins a quarter into the longest clean run; the part before it serves
// shorter requests.
Run take_run_with_room(std::uint32_t units, bool may_be_clean) noexcept {
  const std::uint32_t with_room = units * growth_room;
  join_recent();
  const std::uint32_t clean = source.clean.find_longest();
  const std::uint32_t clean_units = clean == 0 ? 0 : line_of(clean)->units;
  const std::uint32_t before = clean == 0 ? 0 : free_run_before(clean);
  if (before != 0 && line_of(before)->units + clean_units >= with_room) {
    carve_across(before, before, units);
    return {before, false};
  }
  const std::uint32_t dirty = source.dirty.find(with_room);
  if (dirty != 0) {
    carve_run(dirty, dirty, units);
    return {dirty, false};
  }
  if (!may_be_clean || clean_units < with_room) return {0, false};
  const std::uint32_t unit = clean + clean_units / 4;
  carve_run(clean, unit, units);
  return {unit, true};
}

Run take_across(std::uint32_t units) noexcept {
  join_recent();
  const Run run = take_around(source.dirty.find_longest(), units);
  return run.unit != 0 ? run : take_around(source.clean.find_longest(), units);
}

std::uint32_t unit_frontier() noexcept {
  const std::uintptr_t lines_end = source.lines_end.load(std::memory_order_acquire);
  const std::uint32_t frontier = source.frontier.load(std::memory_order_acquire);
  return static_cast<std::uint32_t>(
      std::min<std::uintptr_t>(frontier, (lines_end - region.base) / line_bytes));
}
std::uint32_t first_unit() noexcept { return source.first_unit; }

namespace {

bool list_is_valid(const Bins& bins, std::uint32_t bin, bool dirty, std::uint64_t* units) noexcept {
  std::uint32_t previous = 0;
  for (std::uint32_t unit = bins.first[bin]; unit != 0; unit = line_of(unit)->next) {
    const UnitLine* line = line_of(unit);
    if (line->kind != UnitKind::free_run || bin_of(line->units) != bin || line->prev != previous) {
      return false;
    }
    if (is_dirty_run(line) != dirty) return false;
    const UnitLine* last = line_of(unit + line->units - 1);
    if (line->units > 1 && (last->kind != UnitKind::free_run_last || last->units != line->units - 1)) {
      return false;
    }
    const std::uint32_t after = unit + line->units;
    if (dirty && after < unit_frontier() && line_of(after)->kind == UnitKind::free_run &&
        is_dirty_run(line_of(after))) {
      return false;
    }
    *units += line->units;
    previous = unit;
  }
  return (bins.first[bin] != 0) == ((bins.filled[bin / 64] >> bin % 64 & 1) != 0);
}

}  // namespace

bool page_source_is_valid() noexcept {
  const LockGuard locked = guard();
  std::uint64_t clean_units = 0;
  std::uint64_t dirty_units = 0;
  for (std::uint32_t bin = 0; bin < bin_count; ++bin) {
    if (!list_is_valid(source.clean, bin, false, &clean_units)) return false;
    if (!list_is_valid(source.dirty, bin, true, &dirty_units)) return false;
  }
  std::uint64_t aged_units = 0;
  for (std::uint32_t unit = source.oldest; unit != 0; unit = line_of(unit)->second_next) {
    aged_units += line_of(unit)->units;
  }
  for (std::uint32_t i = 0; i < source.recent.count; ++i) {
    const UnitLine* line = line_of(source.recent.first_units[i]);
    if (line->kind != UnitKind::inside) return false;
    aged_units += line->units;
    dirty_units += line->units;
  }
  return dirty_units == source.dirty_units && aged_units == dirty_units && clean_units == source.clean_units;
}

}  // namespace heapwright::heap
