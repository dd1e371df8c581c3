// SPDX-License-Identifier: MIT
#include "heap/pages/short_units.hpp"

#include "heap/base/counting.hpp"
#include "heap/base/system_pages.hpp"
#include "heap/base/waiting.hpp"
#include "heap/pages/free_runs.hpp"

namespace heapwright::heap {

constinit ShortUnits short_units{};

namespace {

constexpr std::uint8_t most_longer = 8;

void unlink(std::uint32_t unit) noexcept {
  const UnitLine* line = line_of(unit);
  (line->second_next != 0 ? line_of(line->second_next)->next : short_units.newest) = line->next;
  (line->next != 0 ? line_of(line->next)->second_next : short_units.oldest) = line->second_next;
  --short_units.count;
  short_units.bytes -= line->units;
}

}  // namespace

bool add_short(Run run, std::uint32_t used_bytes, std::uint32_t size_class) noexcept {
  std::uint8_t& longer = short_units.longer[size_class];
  if (used_bytes > most_short_bytes || system_page_bytes() > most_short_bytes) {
    if (longer < most_longer) ++longer;
    return false;
  }
  if (longer != 0) --longer;
  if (!run.is_zeroed) return false;
  UnitLine* line = line_of(run.unit);
  line->units = used_bytes;
  line->stamp = current_tick();
  line->next = short_units.newest;
  line->second_next = 0;
  (short_units.newest != 0 ? line_of(short_units.newest)->second_next : short_units.oldest) = run.unit;
  short_units.newest = run.unit;
  ++short_units.count;
  short_units.bytes += used_bytes;
  return true;
}

ShortUnit take_short() noexcept {
  const std::uint32_t unit = short_units.newest;
  if (unit == 0) return {0, 0};
  const std::uint32_t used_bytes = line_of(unit)->units;
  unlink(unit);
  return {unit, used_bytes};
}

bool join_short(std::uint16_t now, std::uint16_t least_age, std::uint32_t most) noexcept {
  bool has_joined = false;
  for (std::uint32_t i = 0; i < most; ++i) {
    count_steps();
    const std::uint32_t unit = short_units.oldest;
    if (unit == 0) break;
    const std::uint16_t stamp = line_of(unit)->stamp;
    if (static_cast<std::uint16_t>(now - stamp) < least_age) break;
    unlink(unit);
    insert_joined(unit, 1, true);
    line_of(source.newest)->stamp = stamp;
    has_joined = true;
  }
  return has_joined;
}

bool stays_short(std::uint32_t size_class) noexcept {
  return short_units.longer[size_class] < most_longer / 2;
}

bool short_units_are_valid() noexcept {
  std::uint32_t count = 0;
  std::uint64_t bytes = 0;
  std::uint32_t newer = 0;
  for (std::uint32_t unit = short_units.newest; unit != 0; unit = line_of(unit)->next) {
    const UnitLine* line = line_of(unit);
    if (line->kind != UnitKind::inside || line->second_next != newer) return false;
    ++count;
    bytes += line->units;
    newer = unit;
  }
  return count == short_units.count && bytes == short_units.bytes && newer == short_units.oldest;
}

}  // namespace heapwright::heap
