// SPDX-License-Identifier: MIT
#include "heap/slabs/dropped_blocks.hpp"

#include <atomic>
#include <bit>
#include <cstring>

#include "heap/base/counting.hpp"
#include "heap/base/lock.hpp"
#include "heap/pages/page_source.hpp"

namespace heapwright::heap {

namespace {

constexpr std::uint32_t maps_per_unit = unit_bytes / sizeof(DroppedMap);
// A slab's line has 16 bits for the number of its map. So every 4 GiB of the region have
// their own maps: nearly one for each possible slab there.
constexpr std::uint32_t units_per_part = 65536;
constexpr std::uint32_t part_count = (std::size_t{1} << 40) / unit_bytes / units_per_part;
constexpr std::uint32_t max_map_units = 65535 / maps_per_unit;

// Maps by number from 1; a unit of them is allocated when all are in use.
struct Maps {
  DroppedMap* units[max_map_units];
  std::uint32_t unit_count;
  std::uint32_t used;  // of the last unit
  DroppedMap* free;
};

struct Parts {
  Lock lock;
  std::atomic<Maps*> maps[part_count];  // null: no slab there has had one yet
};
constinit Parts parts{};
constinit Maps first_maps{};

LockGuard guard() noexcept { return {parts.lock, counters_page->heap.pool_lock}; }

std::atomic<Maps*>& maps_around(const UnitLine* slab) noexcept {
  return parts.maps[unit_of(slab) / units_per_part];
}

// Null: no memory.
Maps* find_maps(const UnitLine* slab) noexcept {
  std::atomic<Maps*>& place = maps_around(slab);
  Maps* maps = place.load(std::memory_order_acquire);
  if (maps != nullptr) return maps;
  // Most programs need one part only.
  const bool is_first = unit_of(slab) < units_per_part;
  const Run run = is_first ? Run{0, false} : allocate_run(1);
  if (run.unit == 0 && !is_first) return nullptr;
  Maps* made = is_first ? &first_maps : reinterpret_cast<Maps*>(memory_of(run.unit));
  if (!is_first && !run.is_zeroed) std::memset(static_cast<void*>(made), 0, sizeof(Maps));
  if (place.compare_exchange_strong(maps, made, std::memory_order_acq_rel)) return made;
  if (!is_first) free_run(run.unit, 1, true);
  return maps;
}

bool add_unit(Maps& maps) noexcept {
  const Run run = allocate_run(1);
  if (run.unit == 0) return false;
  const LockGuard locked = guard();
  if (maps.unit_count == max_map_units || (maps.unit_count != 0 && maps.used < maps_per_unit)) {
    free_run(run.unit, 1, !run.is_zeroed);  // another thread was first, or the limit is reached
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

DroppedMap* map_of(const UnitLine* slab) noexcept {
  const Maps& maps = *maps_around(slab).load(std::memory_order_acquire);
  const std::uint32_t place = slab->dropped - 1U;
  return maps.units[place / maps_per_unit] + place % maps_per_unit;
}

std::uint16_t number_of(const DroppedMap* map) noexcept {
  const UnitLine* line = line_at(map);
  const auto* first = reinterpret_cast<const DroppedMap*>(memory_of(unit_of(line)));
  return static_cast<std::uint16_t>(line->stamp * maps_per_unit + (map - first) + 1);
}

DroppedMap* take_map(const UnitLine* slab) noexcept {
  Maps* const found = find_maps(slab);
  if (found == nullptr) return nullptr;
  Maps& maps = *found;
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
    if (!add_unit(maps)) return nullptr;
  }
  return nullptr;
}

void give_map(const UnitLine* slab, DroppedMap* map) noexcept {
  const LockGuard locked = guard();
  Maps& maps = *maps_around(slab).load(std::memory_order_relaxed);
  map->next_free = maps.free;
  maps.free = map;
}

Chain carve_dropped(UnitLine* slab) noexcept {
  DroppedMap* map = map_of(slab);
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
    if (last != nullptr) last->set_next(block);
    last = block;
    ++carved.count;
    ++index;
  }
  if (carved.count > 1) last->set_next(nullptr);
  map->count -= carved.count;
  slab->carved = static_cast<std::uint16_t>(slab->carved + carved.count);
  add_unlisted(slab, static_cast<std::int32_t>(carved.count));
  counters::add(counters_page->heap.second_touch_pages, 1);
  if (map->count == 0) free_dropped_map(slab);
  return carved;
}

std::uint32_t dropped_count(const UnitLine* slab) noexcept {
  return slab->dropped == 0 ? 0 : map_of(slab)->count;
}

void free_dropped_map(UnitLine* slab) noexcept {
  DroppedMap* map = map_of(slab);
  slab->dropped = 0;  // first: so that a forked child never finds the number of a free map
  give_map(slab, map);
}

void recount_dropped(UnitLine* slab) noexcept {
  if (slab->dropped == 0) return;
  DroppedMap* map = map_of(slab);
  std::uint32_t count = 0;
  for (const std::uint64_t word : map->words) {
    count_steps();
    count += static_cast<std::uint32_t>(std::popcount(word));
  }
  map->count = count;
  if (count == 0) free_dropped_map(slab);
}

Lock& dropped_maps_lock() noexcept { return parts.lock; }

}  // namespace heapwright::heap
