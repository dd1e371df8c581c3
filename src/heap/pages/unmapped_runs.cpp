// SPDX-License-Identifier: MIT
#include "heap/pages/unmapped_runs.hpp"

#include <cstddef>

#include "heap/base/system_pages.hpp"
#include "heap/pages/free_runs.hpp"

namespace heapwright::heap {

namespace {

std::size_t bytes_of(std::uint32_t units) noexcept { return std::size_t{units} * unit_bytes; }

void insert_unmapped(std::uint32_t unit, std::uint32_t units) noexcept {
  const LockGuard locked = guard();
  line_of(unit)->units = units;
  source.unmapped.insert(unit);
  source.unmapped_units = source.unmapped_units + units;
  counters::add(counters_page->heap.committed_bytes, 0 - bytes_of(units));
}

// 0: none is long enough.
std::uint32_t take_unmapped(std::uint32_t units) noexcept {
  const LockGuard locked = guard();
  const std::uint32_t unit = source.unmapped.find(units);
  if (unit == 0) return 0;
  source.unmapped.remove(unit);
  source.unmapped_units = source.unmapped_units - line_of(unit)->units;
  counters::add(counters_page->heap.committed_bytes, bytes_of(line_of(unit)->units));
  return unit;
}

// Skips the run for good if another mapping is in it.
bool map_free(std::uint32_t unit, std::uint32_t units) noexcept {
  const Mapping result = map_at(memory_of(unit), bytes_of(units));
  if (result == Mapping::refused) insert_unmapped(unit, units);
  if (result != Mapping::done) return false;
  const LockGuard locked = guard();
  insert_joined(unit, units, false);
  return true;
}

// 0: none is free.
std::uint32_t take_longest() noexcept {
  const LockGuard locked = guard();
  join_recent();
  std::uint32_t unit = source.clean.find_longest();
  if (unit == 0) unit = source.dirty.find_longest();
  if (unit != 0) carve_run(unit, unit, line_of(unit)->units);
  return unit;
}

}  // namespace

// Unmaps first: mapping over it would bypass the kernel's limit check.
void take_back(std::uint32_t unit, std::uint32_t units) noexcept {
  unmap(memory_of(unit), bytes_of(units));
  map_free(unit, units);
}

bool map_again(std::uint32_t units) noexcept {
  const std::uint32_t unit = take_unmapped(units);
  return unit != 0 && map_free(unit, line_of(unit)->units);
}

void give_up_free_runs(std::uint32_t units) noexcept {
  for (std::uint32_t given = 0; given < units;) {
    count_steps();
    const std::uint32_t unit = take_longest();
    if (unit == 0) return;
    const std::uint32_t more = line_of(unit)->units;
    unmap(memory_of(unit), bytes_of(more));
    insert_unmapped(unit, more);
    given += more;
  }
}

}  // namespace heapwright::heap
