// SPDX-License-Identifier: MIT
// length: the bins, the region's growth and the run operations share one lock and its invariants
#include "heap/page_source.hpp"

#include <algorithm>
#include <atomic>
#include <bit>

#include "heap/counting.hpp"
#include "heap/free_run_bins.hpp"
#include "heap/lock.hpp"
#include "heap/maintenance.hpp"
#include "heap/system_pages.hpp"

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
// A block that has grown grows again: it moves to where it has room for this
// many times its length.
constexpr std::uint32_t growth_room = 4;

static_assert(bin_of(full_span_bytes >> unit_shift) < bin_count);

struct PageSource {
  Lock lock;
  Bins clean;
  Bins dirty;
  RecentRuns recent;
  std::uint32_t oldest;  // dirty runs by age, linked by second_next
  std::uint32_t newest;
  std::uint64_t dirty_units;  // of the recent ones, too
  std::uint64_t clean_units;
  std::atomic<std::uint32_t> frontier;  // units below were made writable
  std::atomic<std::uint32_t> reached;   // units below may have been handed out
  std::uint32_t span_units;
  std::uint32_t first_unit;
  bool is_reserved;  // else address space is mapped as it is needed
  std::atomic<std::uint16_t> tick;
  std::atomic<std::uintptr_t> lines_end;  // lines below can be read
};
constinit PageSource source{};

LockGuard guard() noexcept { return {source.lock, counters_page->page.page_source_lock}; }

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

bool is_dirty_run(const UnitLine* line) noexcept { return (line->flags & is_dirty) != 0; }

void insert_run(std::uint32_t unit, std::uint32_t units, bool dirty) noexcept {
  mark_ends(unit, units, UnitKind::free_run, UnitKind::free_run_last);
  UnitLine* line = line_of(unit);
  line->flags = dirty ? is_dirty : 0;
  (dirty ? source.dirty : source.clean).insert(unit);
  if (!dirty) {
    source.clean_units += units;
    return;
  }
  line->stamp = source.tick.load(std::memory_order_relaxed);
  line->second_next = 0;
  line->second_prev = source.newest;
  (source.newest != 0 ? line_of(source.newest)->second_next : source.oldest) = unit;
  source.newest = unit;
  source.dirty_units += units;
}

void remove_run(std::uint32_t unit) noexcept {
  UnitLine* line = line_of(unit);
  const bool dirty = is_dirty_run(line);
  (dirty ? source.dirty : source.clean).remove(unit);
  if (dirty) {
    (line->second_next != 0 ? line_of(line->second_next)->second_prev : source.newest) = line->second_prev;
    (line->second_prev != 0 ? line_of(line->second_prev)->second_next : source.oldest) = line->second_next;
    source.dirty_units -= line->units;
  } else {
    source.clean_units -= line->units;
  }
  mark_ends(unit, line->units, UnitKind::inside, UnitKind::inside);
}

// The first unit of the free run that ends before `unit`, 0: none does.
std::uint32_t free_run_before(std::uint32_t unit) noexcept {
  const UnitLine* before = line_of(unit - 1);
  if (before->kind == UnitKind::free_run_last) return unit - 1 - before->units;
  return before->kind == UnitKind::free_run && before->units == 1 ? unit - 1 : 0;
}

// Joined with free neighbours of the same kind.
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

// [unit, unit + units) of a free run is taken out, what is left goes back.
void carve_run(std::uint32_t free_unit, std::uint32_t unit, std::uint32_t units) noexcept {
  const std::uint32_t end = free_unit + line_of(free_unit)->units;
  const bool dirty = is_dirty_run(line_of(free_unit));
  const std::uint16_t stamp = line_of(free_unit)->stamp;
  remove_run(free_unit);
  if (unit > free_unit) insert_run(free_unit, unit - free_unit, dirty);
  if (end > unit + units) insert_run(unit + units, end - unit - units, dirty);
  if (dirty && end > unit + units) line_of(unit + units)->stamp = stamp;
}

void add_recent(std::uint32_t unit, std::uint32_t units) noexcept {
  UnitLine* line = line_of(unit);
  line->units = units;
  line->stamp = source.tick.load(std::memory_order_relaxed);
  source.recent.add(unit);
  source.dirty_units += units;
}

std::uint32_t take_recent(std::uint32_t units) noexcept {
  const std::uint32_t unit = source.recent.take(units);
  if (unit != 0) source.dirty_units -= units;
  return unit;
}

void join_oldest_recent() noexcept {
  const std::uint32_t unit = source.recent.take_at(0);
  const std::uint32_t units = line_of(unit)->units;
  const std::uint16_t stamp = line_of(unit)->stamp;
  source.dirty_units -= units;
  insert_joined(unit, units, true);
  line_of(source.newest)->stamp = stamp;
}

void join_recent() noexcept {
  while (source.recent.count != 0) join_oldest_recent();
}

Run take_free_run(std::uint32_t units, std::uint32_t alignment_units) noexcept {
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
  if (found == 0) found = source.clean.find(searched);
  if (found == 0) return {0, false};
  const std::uint32_t unit = (found + alignment_units - 1) / alignment_units * alignment_units;
  const bool is_zeroed = !is_dirty_run(line_of(found));
  carve_run(found, unit, units);
  return {unit, is_zeroed};
}

// Takes `units` of the free run that begins at `unit`, and of the one behind it if that is too short.
void carve_across(std::uint32_t unit, std::uint32_t units) noexcept {
  const std::uint32_t first = std::min<std::uint32_t>(line_of(unit)->units, units);
  carve_run(unit, unit, first);
  if (first < units) carve_run(unit + first, unit + first, units - first);
}

// A place with free units behind it, best where a block that grew was freed
// before. The first one begins a quarter into the longest clean run: what is
// before it serves shorter requests.
Run take_run_with_room(std::uint32_t units) noexcept {
  const std::uint32_t with_room = units * growth_room;
  join_recent();
  const std::uint32_t clean = source.clean.find_longest();
  const std::uint32_t clean_units = clean == 0 ? 0 : line_of(clean)->units;
  const std::uint32_t before = clean == 0 ? 0 : free_run_before(clean);
  if (before != 0 && line_of(before)->units + clean_units >= with_room) {
    carve_across(before, units);
    return {before, false};
  }
  const std::uint32_t dirty = source.dirty.find(with_room);
  if (dirty != 0) {
    carve_run(dirty, dirty, units);
    return {dirty, false};
  }
  if (clean_units < with_room) return {0, false};
  const std::uint32_t unit = clean + clean_units / 4;
  carve_run(clean, unit, units);
  return {unit, true};
}

bool make_range_writable(std::uint32_t unit, std::uint32_t units) noexcept {
  char* memory = memory_of(unit);
  const std::size_t bytes = std::size_t{units} * unit_bytes;
  if (!source.is_reserved) return map_at(memory, bytes);
  // Lines first, and one more, which joining looks at.
  // Whole MiB, so that most growths find theirs done; doing it twice is harmless.
  constexpr std::uintptr_t line_step = std::uintptr_t{1} << 20;
  const auto line = [](std::uint32_t n) { return reinterpret_cast<std::uintptr_t>(line_of(n)); };
  const std::uintptr_t begin = (line(unit) - region.base) / line_step * line_step + region.base;
  const std::uintptr_t end =
      std::min(region.base + (line(unit + units + 1) - region.base + line_step - 1) / line_step * line_step,
               reinterpret_cast<std::uintptr_t>(memory_of(source.first_unit)));
  std::uintptr_t seen = source.lines_end.load(std::memory_order_acquire);
  if (seen < end) {
    if (!make_writable(reinterpret_cast<void*>(begin), end - begin)) return false;
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
  const std::uint32_t end = source.frontier.load(std::memory_order_relaxed);
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
  source.first_unit = source.span_units / (unit_bytes / line_bytes);
  source.frontier.store(source.first_unit, std::memory_order_relaxed);
  region.span_bytes = span_bytes;
  // The lines of the lines: no block has them, but free() of a wild pointer reads them.
  return !source.is_reserved ||
         make_writable(reinterpret_cast<void*>(region.base), source.first_unit * line_bytes);
}

namespace {

Run find_free_run(std::uint32_t units, std::uint32_t alignment_units) noexcept {
  const LockGuard locked = guard();
  return take_free_run(units, alignment_units);
}

}  // namespace

namespace {

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

}  // namespace

Run allocate_run(std::uint32_t units, std::uint32_t alignment_units) noexcept {
  Run run = find_free_run(units, alignment_units);
  const bool has_grown = run.unit == 0;
  if (has_grown) run = grow_aligned(units, alignment_units);
  if (run.unit == 0) return run;
  raise_reached(run.unit + units);
  if (has_grown) start_due_maintenance();
  restart_maintenance();
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

Run take_run(std::uint32_t units) noexcept {
  const Run run = find_free_run(units, 1);
  if (run.unit != 0) raise_reached(run.unit + units);
  return run;
}

void start_due_maintenance() noexcept {
  constexpr std::uint32_t least_units = 128;
  const std::uint32_t reached = source.reached.load(std::memory_order_relaxed);
  if (reached - source.first_unit >= least_units) start_maintenance();
}

void free_run(std::uint32_t unit, std::uint32_t units, bool is_dirty_now) noexcept {
  const LockGuard locked = guard();
  if (!is_dirty_now) return insert_joined(unit, units, false);
  if (source.recent.count == RecentRuns::capacity) join_oldest_recent();
  add_recent(unit, units);
}

namespace {

// The free run that begins at the unit, 0 units: none does.
std::uint32_t free_units_at(std::uint32_t unit) noexcept {
  if (unit >= source.frontier.load(std::memory_order_relaxed)) return 0;
  const UnitLine* line = line_of(unit);
  return line->kind == UnitKind::free_run ? line->units : 0;
}

}  // namespace

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
    if (unit == 0 || !is_due(unit)) return false;
    units = std::min<std::uint32_t>(line_of(unit)->units, most_units);
    carve_run(unit, unit, units);
  }
  drop_pages(memory_of(unit), std::size_t{units} * unit_bytes);
  counters::add(counters_page->page.purged_bytes, std::size_t{units} * unit_bytes);
  free_run(unit, units, false);
  return true;
}

bool has_surplus() noexcept {
  const LockGuard locked = guard();
  const std::uint64_t committed = source.frontier.load(std::memory_order_relaxed) - source.first_unit;
  return source.dirty_units * surplus_share > committed - source.dirty_units - source.clean_units;
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

namespace {

bool list_is_valid(const Bins& bins, std::uint32_t bin, bool dirty, std::uint64_t* units) noexcept {
  std::uint32_t previous = 0;
  for (std::uint32_t unit = bins.first[bin]; unit != 0; unit = line_of(unit)->next) {
    const UnitLine* line = line_of(unit);
    if (line->kind != UnitKind::free_run || bin_of(line->units) != bin || line->prev != previous)
      return false;
    if (is_dirty_run(line) != dirty) return false;
    const UnitLine* last = line_of(unit + line->units - 1);
    if (line->units > 1 && (last->kind != UnitKind::free_run_last || last->units != line->units - 1))
      return false;
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
