// SPDX-License-Identifier: MIT
#include "heap/pages/large.hpp"

#include <atomic>

#include "heap/base/checked_size.hpp"
#include "heap/base/counting.hpp"
#include "heap/base/system_pages.hpp"
#include "heap/pages/guards.hpp"
#include "heap/pages/huge_pages.hpp"
#include "heap/pages/kept_runs.hpp"
#include "heap/pages/page_source.hpp"
#include "heap/pages/unmapped_runs.hpp"

namespace heapwright::heap {

namespace {

// Below this copying is faster than moving pages: a move leaves the source empty and
// discards the target's pages, and each of them costs a fault when it is used again.
constexpr std::size_t least_moved_bytes = std::size_t{4} << 20;
// A moved block splits the region's mapping, and mappings are limited.
constexpr std::uint32_t most_moved = 1024;
std::atomic<std::uint32_t> moved_blocks{0};
// Each move adds a mapping to the block, and the kernel moves each separately.
constexpr std::uint32_t most_guarded_moves = 32;

std::size_t in_pages(std::size_t bytes) noexcept { return checked_round_up(bytes, system_page_bytes()); }

std::uint32_t units_for(std::size_t bytes) noexcept {
  return static_cast<std::uint32_t>(checked_round_up(bytes, unit_bytes) / unit_bytes);
}

void describe(std::uint32_t unit, std::uint32_t units, std::size_t bytes, std::uint8_t flags,
              ThreadCache* owner) noexcept {
  UnitLine* line = line_of(unit);
  line->large_bytes = bytes;
  line->units = units;
  line->flags = flags;
  line->kind = UnitKind::large;
  line->owner.store(owner, std::memory_order_release);
  exempt_block(memory_of(unit), std::size_t{units} * unit_bytes);
}

bool is_allowed(std::size_t bytes, std::size_t alignment) noexcept {
  return bytes <= region.span_bytes && alignment <= region.span_bytes;
}

// Frees the run, with zeroed pages if they were returned, otherwise dirty.
void free_pages(std::uint32_t unit, std::uint32_t units, bool moved) noexcept {
  const std::size_t bytes = std::size_t{units} * unit_bytes;
  bool dirty = true;
  if (moved) {
    dirty = !map_anew(memory_of(unit), bytes);
    moved_blocks.fetch_sub(1, std::memory_order_relaxed);
  } else if (bytes > huge_bytes && dirty_bytes() + bytes > most_kept_dirty_bytes(bytes)) {
    drop_pages(memory_of(unit), bytes);
    dirty = false;
  }
  free_run(unit, units, dirty);
}

void* resize_in_place(UnitLine* line, std::uint32_t units, std::size_t bytes) noexcept {
  const std::uint32_t unit = unit_of(line);
  if (units < line->units) {
    const std::uint32_t surplus = line->units - units;
    const std::size_t surplus_bytes = std::size_t{surplus} * unit_bytes;
    const bool is_given_back = surplus_bytes > huge_bytes;
    if (is_given_back) drop_pages(memory_of(unit + units), surplus_bytes);
    line->units = units;
    free_run(unit + units, surplus, !is_given_back);
  } else if (units > line->units) {
    if (!extend_run(unit, line->units, units - line->units)) return nullptr;
    line->units = units;
    exempt_block(memory_of(unit), std::size_t{units} * unit_bytes);
  }
  line->large_bytes = bytes;
  return memory_of(unit);
}

// The kernel unmaps the target first, and may then refuse because a limit was lowered or, before Linux 6.17,
// because the block spans two mappings: it was moved before, and has grown since.
void free_after_refusal(const Run& run, std::uint32_t units, std::size_t moved_bytes) noexcept {
  if (is_unmapped(memory_of(run.unit), moved_bytes)) return take_back(run.unit, units);
  free_run(run.unit, units, !run.is_zeroed);
}

void* move_block(UnitLine* line, std::uint32_t units, std::size_t bytes) noexcept {
  if (moved_blocks.load(std::memory_order_relaxed) >= most_moved) return nullptr;
  const std::uint32_t unit = unit_of(line);
  const Run run = allocate_run_with_room(units, Growth::in_small_steps);
  if (run.unit == 0) return nullptr;
  if (!move_pages(memory_of(unit), memory_of(run.unit), line->large_bytes)) {
    free_after_refusal(run, units, line->large_bytes);
    return nullptr;
  }
  ThreadCache* owner = line->owner.load(std::memory_order_relaxed);
  const std::uint32_t old_units = line->units;
  const bool was_moved = (line->flags & is_moved_large) != 0;
  if (!was_moved) moved_blocks.fetch_add(1, std::memory_order_relaxed);
  line->owner.store(nullptr, std::memory_order_relaxed);
  line->kind = UnitKind::inside;
  describe(run.unit, units, bytes, is_moved_large, owner);
  // The old range is zeroed up to the block's end, maybe not behind it.
  const bool dirty = was_moved && !map_anew(memory_of(unit), std::size_t{old_units} * unit_bytes);
  free_run(unit, old_units, dirty || !was_moved);
  return memory_of(run.unit);
}

}  // namespace

LargeBlock allocate_large(std::size_t bytes, std::size_t alignment, ThreadCache* owner) noexcept {
  if (!is_allowed(bytes, alignment)) return {nullptr, false};
  const std::uint32_t units = bytes == 0 ? 1 : units_for(bytes);
  const std::uint32_t alignment_units = alignment <= unit_bytes ? 1 : units_for(alignment);
  const Run run = allocate_run(units, alignment_units);
  if (run.unit == 0) return {nullptr, false};
  describe(run.unit, units, in_pages(bytes == 0 ? 1 : bytes), 0, owner);
  start_due_maintenance();
  return {memory_of(run.unit), run.is_zeroed};
}

LargeBlock allocate_kept(std::size_t bytes, KeptRuns* kept) noexcept {
  const std::uint32_t unit = units_for(bytes) == kept_units ? take_kept(kept) : 0;
  if (unit == 0) return {nullptr, false};
  describe(unit, kept_units, in_pages(bytes), 0, nullptr);
  return {memory_of(unit), false};
}

void* allocate_grown(std::size_t bytes, std::size_t old_bytes) noexcept {
  if (!is_allowed(bytes, 1)) return nullptr;
  const std::uint32_t units = units_for(bytes);
  const bool is_step = bytes - old_bytes < old_bytes / 2;
  const Run run = allocate_run_with_room(units, is_step ? Growth::in_small_steps : Growth::by_half_or_more);
  if (run.unit == 0) return nullptr;
  describe(run.unit, units, in_pages(bytes), 0, nullptr);
  return memory_of(run.unit);
}

LargeBlock allocate_guarded(std::size_t bytes, std::size_t alignment, ThreadCache* owner) noexcept {
  if (!is_allowed(bytes, alignment)) return {nullptr, false};
  const std::uint32_t units = units_for(bytes);
  const std::size_t whole_bytes = std::size_t{units} * unit_bytes;
  if (alignment > unit_bytes || !may_guard_run()) {
    const LargeBlock block = allocate_large(bytes, alignment, owner);
    if (block.memory != nullptr && !block.is_zeroed) drop_pages(block.memory, whole_bytes);
    return block;
  }
  const Run run = allocate_clean_run(units + 2);
  if (run.unit == 0) return {nullptr, false};
  guarded_runs.fetch_add(1, std::memory_order_relaxed);
  char* const memory = memory_of(run.unit + 1);
  if (!run.is_zeroed) drop_pages(memory, whole_bytes);
  guard_unit(run.unit);
  forbid(memory + in_pages(bytes), whole_bytes + unit_bytes - in_pages(bytes));
  describe(run.unit + 1, units, in_pages(bytes), is_guarded_large, owner);
  line_of(run.unit + 1)->moves = 0;
  start_due_maintenance();
  return {memory, true};
}

MovedBytes move_guarded(UnitLine* from, UnitLine* to, std::size_t bytes) noexcept {
  const std::size_t whole_bytes = bytes - bytes % system_page_bytes();
  const bool are_guarded = (from->flags & to->flags & is_guarded_large) != 0;
  if (!are_guarded || whole_bytes < least_moved_bytes || from->moves >= most_guarded_moves) return {0, true};
  char* const place = memory_of(unit_of(to));
  if (move_pages(memory_of(unit_of(from)), place, whole_bytes)) {
    to->moves = from->moves + 1;
    return {whole_bytes, true};
  }
  return {0, !is_unmapped(place, whole_bytes) || map_anew(place, whole_bytes)};
}

void withdraw_large(UnitLine* line) noexcept {
  withdraw(memory_of(unit_of(line)), line->large_bytes);
  line->flags = static_cast<std::uint8_t>(line->flags | is_forbidden_large);
}

void free_guarded(UnitLine* line) noexcept {
  const std::uint32_t unit = unit_of(line);
  const std::uint32_t units = line->units;
  line->owner.store(nullptr, std::memory_order_relaxed);
  line->kind = UnitKind::inside;
  if ((line->flags & is_guarded_large) != 0) return free_guarded_run(unit - 1, units + 2);
  take_back(unit, units);
}

void free_large(UnitLine* line, KeptRuns* kept) noexcept {
  if ((line->flags & (is_guarded_large | is_forbidden_large)) != 0) return free_guarded(line);
  const bool moved = (line->flags & is_moved_large) != 0;
  line->owner.store(nullptr, std::memory_order_relaxed);
  line->kind = UnitKind::inside;
  const bool may_keep = kept != nullptr && line->units == kept_units && !moved;
  if (may_keep && keep_run(kept, unit_of(line))) return;
  free_pages(unit_of(line), line->units, moved);
}

void* resize_large(UnitLine* line, std::size_t bytes) noexcept {
  if (bytes <= slab_limit_bytes || !is_allowed(bytes, 1)) return nullptr;
  const std::uint32_t units = units_for(bytes);
  const std::size_t usable_bytes = in_pages(bytes);
  if ((line->flags & is_guarded_large) != 0) {  // its pages end at the guard
    return usable_bytes == line->large_bytes ? memory_of(unit_of(line)) : nullptr;
  }
  if (void* memory = resize_in_place(line, units, usable_bytes)) return memory;
  return line->large_bytes >= least_moved_bytes ? move_block(line, units, usable_bytes) : nullptr;
}

}  // namespace heapwright::heap
