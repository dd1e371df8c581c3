// SPDX-License-Identifier: MIT
#include "heap/populate.hpp"

#include <algorithm>

#include "heap/page_source.hpp"
#include "heap/system_pages.hpp"

namespace heapwright::heap {

namespace {

constexpr std::uint32_t least_units = 128;
constexpr std::uint32_t most_units = 256;
constexpr std::uint32_t share_of_used = 64;

// Of the maintenance thread alone.
struct Populated {
  std::uint32_t tail;       // where the clean tail began at the last look
  std::uint32_t lot_units;  // FreeTail::lot_units then
  std::uint32_t begin;      // what was populated and not taken since lies in units [begin, end)
  std::uint32_t end;
  std::uint16_t stamp;  // of the last populating
  enum : std::uint8_t { unknown, one, several } nodes;
};
constinit Populated populated{};

bool has_one_node() noexcept {
  if (populated.nodes == Populated::unknown) {
    populated.nodes = memory_node_count() == 1 ? Populated::one : Populated::several;
  }
  return populated.nodes == Populated::one;
}

// Since the last look. Growth by anything longer than a slab of one unit does not
// count: many classes with long slabs leave a lot of them untouched, and large
// blocks may be.
bool has_grown_by_small_blocks(const FreeTail& tail, std::uint32_t least_growth) noexcept {
  const std::uint32_t grown = tail.unit > populated.tail ? tail.unit - populated.tail : 0;
  const std::uint32_t in_lots = tail.lot_units - populated.lot_units;
  populated.tail = tail.unit;
  populated.lot_units = tail.lot_units;
  return grown >= least_growth && in_lots >= grown - grown / 8;
}

}  // namespace

bool populate_ahead(std::uint32_t least_growth) noexcept {
  const FreeTail tail = free_tail();
  const bool grows = has_grown_by_small_blocks(tail, least_growth);
  const std::uint32_t ahead = std::min(tail.used_units / share_of_used, most_units);
  if (tail.unit == 0 || !grows || ahead < least_units || !has_one_node()) return false;
  populated.begin = tail.unit;
  populated.end = std::max(populated.end, tail.unit);
  populated.stamp = current_tick();
  const std::uint32_t end = std::min(tail.unit + ahead, tail.end);
  // One at a time: meanwhile nobody can map memory.
  while (populated.end < end && populate_pages(memory_of(populated.end), unit_bytes)) ++populated.end;
  return true;
}

void drop_populated(std::uint16_t now, std::uint16_t least_age) noexcept {
  if (populated.begin == populated.end) return;
  if (static_cast<std::uint16_t>(now - populated.stamp) < least_age) return;
  if (drop_clean(populated.begin, populated.end)) populated.begin = populated.end = 0;
}

}  // namespace heapwright::heap
