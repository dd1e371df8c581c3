// SPDX-License-Identifier: MIT
#include "heap/pages/growth.hpp"

#include <sys/personality.h>

#include <algorithm>
#include <bit>

#include "heap/base/counting.hpp"
#include "heap/base/random.hpp"
#include "heap/base/settings.hpp"
#include "heap/base/system_pages.hpp"
#include "heap/pages/free_runs.hpp"
#include "heap/pages/huge_pages.hpp"
#include "platform/raw_syscall.hpp"

namespace heapwright::heap {

namespace {

constexpr std::size_t full_span_bytes = std::size_t{1} << 40;
constexpr std::size_t least_span_bytes = std::size_t{1} << 26;
// Hardened mode leaves runs unmapped that are too short for other sizes. Addresses cost nothing.
constexpr std::size_t limited_span_share = 16;
// A growth costs as much as many calls, so steps are large. The first ones double the
// region, so that a stray write far behind its block leaves it. Under a limit every page counts.
constexpr std::uint32_t first_growth_units = 16;
constexpr std::uint32_t least_growth_units = 512;
constexpr std::uint32_t least_limited_units = 64;
constexpr std::uint32_t most_growth_units = 2048;
constexpr std::uint32_t hardened_growth_units = 16;
constexpr std::uint32_t meanwhile_growth_units = 16;
static_assert(bin_of(full_span_bytes >> unit_shift) < bin_count);

// Maps the lines up to that of the unit and one more, which joining reads. This includes
// units that another call is adding before these, so that all lines below lines_end are
// readable. Maps whole MiB, so that most growths have nothing to map. Of two threads that
// map the same lines, the second finds them mapped.
bool map_lines(std::uint32_t unit) noexcept {
  constexpr std::uintptr_t step = std::uintptr_t{1} << 20;
  const auto last = reinterpret_cast<std::uintptr_t>(line_of(unit + 1));
  const std::uintptr_t end = std::min(region.base + (last - region.base + step - 1) / step * step,
                                      reinterpret_cast<std::uintptr_t>(memory_of(source.first_unit)));
  std::uintptr_t seen = source.lines_end.load(std::memory_order_acquire);
  for (std::uintptr_t at = seen; at < end;) {
    const std::uintptr_t next = std::min(end, region.base + ((at - region.base) / step + 1) * step);
    if (map_at(reinterpret_cast<void*>(at), next - at) == Mapping::refused) return false;
    at = next;
  }
  while (seen < end && !source.lines_end.compare_exchange_weak(seen, end, std::memory_order_release)) {
  }
  return true;
}

Mapping map_range(std::uint32_t unit, std::uint32_t units) noexcept {
  if (!map_lines(unit + units)) return Mapping::refused;
  const std::size_t bytes = std::size_t{units} * unit_bytes;
  const Mapping result = map_at(memory_of(unit), bytes);
  if (result == Mapping::done) ask_for_growth(memory_of(unit), bytes);
  return result;
}

// An eighth of a limited address space is left to stacks and other mappings.
bool is_beyond_limit(std::uint32_t end) noexcept {
  if (source.limit_bytes == 0) return false;
  const std::size_t mapped_units = end - source.first_unit - source.unmapped_units;
  return mapped_units * unit_bytes > source.limit_bytes - source.limit_bytes / 8;
}

// Advances the frontier by `units` and sets `from` to its old value; if `from` is not 0,
// only if the frontier is there. The range belongs to the caller.
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
  const std::size_t blocks = bytes - (region.first_block - region.base);
  seen = region.block_bytes.load(std::memory_order_relaxed);
  while (seen < blocks &&
         !region.block_bytes.compare_exchange_weak(seen, blocks, std::memory_order_release)) {
  }
}

// Maps units at the frontier and returns the first; 0: refused. A range that cannot be
// mapped is released, or skipped for good if the frontier has moved on or another
// mapping is in it.
std::uint32_t extend_region(std::uint32_t units, std::uint32_t from) noexcept {
  constexpr int most_obstacles = 64;
  const bool is_exact = from != 0;
  for (int i = 0; i < most_obstacles; ++i) {
    count_steps();
    if (!claim_frontier(units, &from)) return 0;
    const Mapping result = map_range(from, units);
    if (result == Mapping::done) return from;
    if (result == Mapping::refused) {
      std::uint32_t expected = from + units;
      source.frontier.compare_exchange_strong(expected, from, std::memory_order_relaxed);
      return 0;
    }
    if (is_exact) return 0;
    from = 0;
  }
  return 0;
}

// Hardened mode: leaves an unmapped unit after each growth. No limit counts it.
void leave_gap() noexcept {
  std::uint32_t anywhere = 0;
  if (!claim_frontier(1, &anywhere)) return;
  const LockGuard locked = guard();
  source.unmapped_units = source.unmapped_units + 1;
}

Run grow(std::uint32_t wanted, std::uint32_t growth, std::uint32_t from = 0) noexcept {
  const std::uint32_t unit = extend_region(growth, from);
  if (unit == 0) return {0, false};
  raise_used(std::size_t{unit + growth} << unit_shift);
  counters::add(counters_page->heap.committed_bytes, growth * unit_bytes);
  count_reason(counters::Reason::region_grown);
  if (settings.is_hardened) leave_gap();
  if (growth > wanted) {
    const LockGuard locked = guard();
    insert_joined(unit + wanted, growth - wanted, false);
  }
  return {unit, true};
}

// Extends the free run below the frontier, which is too short, by what is missing: with
// a limit, no memory is left unused between long blocks.
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
  if (end - rest >= wanted) return {rest, is_zeroed};  // long enough, but in a bin with shorter runs
  const std::uint32_t missing = wanted - (end - rest);
  Run grown = grow(missing, std::max(missing, step), end);
  if (grown.unit == 0 && missing < step) grown = grow(missing, missing, end);
  if (grown.unit != 0) return {rest, is_zeroed};
  const LockGuard locked = guard();
  insert_joined(rest, end - rest, !is_zeroed);
  return {0, false};
}

// Places the region at `base` and maps its first lines, if the ranges of the lines and the first units are
// free.
bool place_at(std::uintptr_t base, std::size_t span_bytes) noexcept {
  const std::size_t looked_at_bytes = span_bytes / (unit_bytes / line_bytes) * 2;
  if (!is_unmapped(reinterpret_cast<void*>(base), looked_at_bytes)) return false;
  const std::size_t own_bytes =
      std::max(span_bytes >> (2 * (unit_shift - std::countr_zero(line_bytes))), unit_bytes);
  if (map_at(reinterpret_cast<void*>(base), own_bytes) != Mapping::done) return false;
  region.base = base;
  region.span_bytes = span_bytes;
  source.span_units = static_cast<std::uint32_t>(span_bytes >> unit_shift);
  source.first_unit = static_cast<std::uint32_t>(source.span_units / (unit_bytes / line_bytes));
  source.frontier.store(source.first_unit, std::memory_order_relaxed);
  region.first_block = reinterpret_cast<std::uintptr_t>(memory_of(source.first_unit));
  // The lines that describe the lines: no block has them, but free() of a wild pointer reads them.
  source.lines_end.store(base + own_bytes, std::memory_order_release);
  return true;
}

// A random place in the middle of the address space, away from the program's mappings and
// the kernel's choice: of 128 TiB, 48 from 32 on, which is almost 30 bits of randomness. With
// address randomization off, as under a debugger, the place is always the same.
std::uintptr_t draw_place() noexcept {
  const int on_stack = 0;
  const std::uintptr_t top = std::bit_ceil(reinterpret_cast<std::uintptr_t>(&on_stack));
  const long flags = platform::raw_syscall(SYS_personality, 0xffffffff);
  const bool is_fixed = flags > 0 && (flags & ADDR_NO_RANDOMIZE) != 0;
  const std::uintptr_t places = std::max<std::uintptr_t>(top / 8 * 3 / unit_bytes, 1);
  return top / 4 + (is_fixed ? 0 : random_word() % places) * unit_bytes;
}

// Sanitizers keep their shadow memory there.
#if defined(__SANITIZE_THREAD__)
constexpr int most_draws = 0;
#else
constexpr int most_draws = 16;
#endif

bool place_anywhere(std::size_t span_bytes) noexcept {
  for (int i = 0; i < most_draws; ++i) {
    const std::uintptr_t drawn = draw_place();
    for (std::uintptr_t next = 0; next < 4; ++next) {
      if (place_at(drawn + next * full_span_bytes, span_bytes)) return true;
    }
  }
  const auto chosen = reinterpret_cast<std::uintptr_t>(find_unmapped(span_bytes + unit_bytes));
  return chosen != 0 && place_at((chosen + unit_bytes - 1) / unit_bytes * unit_bytes, span_bytes);
}

}  // namespace

bool place_region() noexcept {
  const std::size_t limit = address_space_limit_bytes();
  std::size_t span_bytes = full_span_bytes;
  if (limit != 0 && limit < full_span_bytes) {
    span_bytes =
        std::min(std::max(std::bit_ceil(limit), least_span_bytes) * limited_span_share, full_span_bytes);
    source.limit_bytes = limit;
  }
  while (!place_anywhere(span_bytes)) {
    span_bytes /= 2;
    if (span_bytes < least_span_bytes) return false;
  }
  region.link_key = random_word();
  return true;
}

namespace {

std::uint32_t growth_step() noexcept {
  if (settings.is_hardened) return hardened_growth_units;
  const std::uint32_t frontier = source.frontier.load(std::memory_order_relaxed);
  const std::uint32_t committed = frontier - source.first_unit;
  if (is_start(frontier)) return std::max(committed, first_growth_units);
  const std::uint32_t least = source.limit_bytes == 0 ? least_growth_units : least_limited_units;
  return std::clamp(committed / 2, least, most_growth_units);
}

// Memory mapped ahead of need is for all threads, but they find it only once it is mapped. Only one at a time
// maps ahead: otherwise 500 concurrent threads would map 128 MiB each.
class AheadOfNeed {
 public:
  AheadOfNeed() noexcept : is_own_(!source.is_growing_ahead.exchange(true, std::memory_order_acquire)) {}
  AheadOfNeed(const AheadOfNeed&) = delete;
  AheadOfNeed& operator=(const AheadOfNeed&) = delete;
  ~AheadOfNeed() {
    if (is_own_) source.is_growing_ahead.store(false, std::memory_order_release);
  }
  bool is_own() const noexcept { return is_own_; }

 private:
  const bool is_own_;
};

}  // namespace

bool is_start(std::uint32_t frontier) noexcept {
  return frontier - source.first_unit < least_growth_units && source.limit_bytes == 0 &&
         !settings.is_hardened;
}

void end_start() noexcept {
  const AheadOfNeed ahead;
  const std::uint32_t frontier = source.frontier.load(std::memory_order_relaxed);
  if (ahead.is_own() && is_start(frontier)) grow(0, least_growth_units - (frontier - source.first_unit));
}

Run grow_for(std::uint32_t units) noexcept {
  const AheadOfNeed ahead;
  const std::uint32_t step = ahead.is_own() ? growth_step() : meanwhile_growth_units;
  Run run = grow_behind_rest(units, step);
  if (run.unit == 0) run = grow(units, std::max(units, step));
  if (run.unit == 0 && units < step) run = grow(units, units);
  return run;
}

}  // namespace heapwright::heap
