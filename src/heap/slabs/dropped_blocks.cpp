// SPDX-License-Identifier: MIT
#include "heap/slabs/dropped_blocks.hpp"

#include <bit>

#include "heap/base/counting.hpp"
#include "heap/base/lock.hpp"
#include "heap/pages/page_source.hpp"

namespace heapwright::heap {

namespace {

constexpr std::uint32_t maps_per_unit = unit_bytes / sizeof(DroppedMap);
constexpr std::uint32_t max_map_units = 65535 / maps_per_unit;

// Maps by number from 1; a unit of them is taken when the last one is in use.
struct Maps {
  Lock lock;
  DroppedMap* units[max_map_units];
  std::uint32_t unit_count;
  std::uint32_t used;  // of the last unit
  DroppedMap* free;
};
constinit Maps maps{};

LockGuard guard() noexcept { return {maps.lock, counters_page->heap.pool_lock}; }

bool add_unit() noexcept {
  const Run run = allocate_run(1);
  if (run.unit == 0) return false;
  const LockGuard locked = guard();
  if (maps.unit_count == max_map_units || (maps.unit_count != 0 && maps.used < maps_per_unit)) {
    free_run(run.unit, 1, !run.is_zeroed);  // another thread was first, or there are enough
    return maps.unit_count != max_map_units;
  }
  line_of(run.unit)->stamp = static_cast<std::uint16_t>(maps.unit_count);
  maps.units[maps.unit_count++] = reinterpret_cast<DroppedMap*>(memory_of(run.unit));
  maps.used = 0;
  return true;
}

bool is_marked(const std::uint64_t* words, std::uint32_t index) noexcept {
  return (words[index / 64] >> index % 64 & 1) != 0;
}

}  // namespace

DroppedMap* map_of(std::uint16_t number) noexcept {
  return maps.units[(number - 1U) / maps_per_unit] + (number - 1U) % maps_per_unit;
}

std::uint16_t number_of(const DroppedMap* map) noexcept {
  const UnitLine* line = line_at(map);
  const auto* first = reinterpret_cast<const DroppedMap*>(memory_of(unit_of(line)));
  return static_cast<std::uint16_t>(line->stamp * maps_per_unit + (map - first) + 1);
}

DroppedMap* take_map() noexcept {
  for (int attempt = 0; attempt < 2; ++attempt) {
    {
      const LockGuard locked = guard();
      if (maps.free != nullptr) {
        DroppedMap* map = maps.free;
        maps.free = map->next_free;
        return map;
      }
      if (maps.unit_count != 0 && maps.used < maps_per_unit) {
        return maps.units[maps.unit_count - 1] + maps.used++;
      }
    }
    if (!add_unit()) return nullptr;
  }
  return nullptr;
}

void give_map(DroppedMap* map) noexcept {
  const LockGuard locked = guard();
  map->next_free = maps.free;
  maps.free = map;
}

Chain carve_dropped(UnitLine* slab) noexcept {
  DroppedMap* map = map_of(slab->dropped);
  const std::size_t bytes = class_of_slab(slab).block_bytes;
  while (map->words[map->hint] == 0) {
    count_steps();
    ++map->hint;
  }
  std::uint32_t index = map->hint * 64 + static_cast<std::uint32_t>(std::countr_zero(map->words[map->hint]));
  const std::size_t page = index * bytes / carve_bytes;
  Chain carved{reinterpret_cast<Block*>(begin_of_slab(slab) + index * bytes), 0};
  Block* last = nullptr;
  while (index < slab->fresh && index * bytes / carve_bytes == page && is_marked(map->words, index)) {
    count_steps();
    map->words[index / 64] &= ~(std::uint64_t{1} << index % 64);
    auto* block = reinterpret_cast<Block*>(begin_of_slab(slab) + index * bytes);
    if (last != nullptr) last->next = block;
    last = block;
    ++carved.count;
    ++index;
  }
  if (carved.count > 1) last->next = nullptr;
  map->count -= carved.count;
  slab->carved = static_cast<std::uint16_t>(slab->carved + carved.count);
  add_unlisted(slab, static_cast<std::int32_t>(carved.count));
  counters::add(counters_page->heap.second_touch_pages, 1);
  if (map->count == 0) free_dropped_map(slab);
  return carved;
}

std::uint32_t dropped_count(const UnitLine* slab) noexcept {
  return slab->dropped == 0 ? 0 : map_of(slab->dropped)->count;
}

void free_dropped_map(UnitLine* slab) noexcept {
  give_map(map_of(slab->dropped));
  slab->dropped = 0;
}

Lock& dropped_maps_lock() noexcept { return maps.lock; }

}  // namespace heapwright::heap
