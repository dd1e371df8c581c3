// SPDX-License-Identifier: MIT
#include "heap/dropped_blocks.hpp"

#include <bit>

#include "heap/counting.hpp"
#include "heap/lock.hpp"
#include "heap/misuse.hpp"
#include "heap/page_source.hpp"
#include "heap/system_pages.hpp"

namespace heapwright::heap {

namespace {

struct DroppedMap {
  std::uint64_t words[dropped_map_words];
  DroppedMap* next_free;
  std::uint32_t count;
  std::uint32_t hint;  // no bit is set in the words before
};

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

LockGuard guard() noexcept { return {maps.lock, counters_page->page.pool_lock}; }

DroppedMap* map_of(std::uint16_t number) noexcept {
  return maps.units[(number - 1U) / maps_per_unit] + (number - 1U) % maps_per_unit;
}

std::uint16_t number_of(const DroppedMap* map) noexcept {
  const UnitLine* line = line_at(map);
  const auto* first = reinterpret_cast<const DroppedMap*>(memory_of(unit_of(line)));
  return static_cast<std::uint16_t>(line->stamp * maps_per_unit + (map - first) + 1);
}

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

bool is_marked(const std::uint64_t* words, std::uint32_t index) noexcept {
  return (words[index / 64] >> index % 64 & 1) != 0;
}
void mark(std::uint64_t* words, std::uint32_t index) noexcept {
  words[index / 64] |= std::uint64_t{1} << index % 64;
}

// Whether every block that touches the page is free or dropped.
bool can_drop(const UnitLine* slab, const std::uint64_t* free, const std::uint64_t* dropped,
              std::size_t page_offset, std::size_t page_bytes) noexcept {
  const std::uint32_t first = block_index(slab->size_class, page_offset);
  const std::uint32_t last = block_index(slab->size_class, page_offset + page_bytes - 1);
  for (std::uint32_t i = first; i <= last && i < slab->fresh; ++i) {
    if (!is_marked(free, i) && !is_marked(dropped, i)) return false;
  }
  return true;
}

// Blocks that begin in a dropped page leave circulation.
std::uint32_t drop_blocks_of(const UnitLine* slab, std::uint64_t* free, std::uint64_t* dropped,
                             std::size_t page_offset, std::size_t page_bytes) noexcept {
  const std::size_t bytes = class_of_slab(slab).block_bytes;
  std::uint32_t index = static_cast<std::uint32_t>((page_offset + bytes - 1) / bytes);
  std::uint32_t count = 0;
  for (; index < slab->fresh && index * bytes < page_offset + page_bytes; ++index) {
    if (!is_marked(free, index)) continue;
    free[index / 64] &= ~(std::uint64_t{1} << index % 64);
    mark(dropped, index);
    ++count;
  }
  return count;
}

// Both lists become marks; all of the blocks count as listed afterwards.
void unlist_all(UnitLine* slab, std::uint64_t* free) noexcept {
  const Chain listed = take_listed(slab);
  const Chain remote = take_remote(slab);
  mark_list(slab, listed, free);
  mark_list(slab, remote, free);
}

void relist_all(UnitLine* slab, const std::uint64_t* free) noexcept {
  const std::size_t bytes = class_of_slab(slab).block_bytes;
  Block** link = &slab->free_list;
  for (std::uint32_t word = 0; word < dropped_map_words; ++word) {
    for (std::uint64_t bits = free[word]; bits != 0; bits &= bits - 1) {
      const std::size_t index = word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
      *link = reinterpret_cast<Block*>(begin_of_slab(slab) + index * bytes);
      link = &(*link)->next;
      add_unlisted(slab, -1);
    }
  }
  *link = nullptr;
}

}  // namespace

std::size_t drop_free_pages(UnitLine* slab) noexcept {
  DroppedMap* map = slab->dropped != 0 ? map_of(slab->dropped) : take_map();
  if (map == nullptr) return 0;
  if (slab->dropped == 0) *map = DroppedMap{};
  std::uint64_t free[dropped_map_words] = {};
  unlist_all(slab, free);
  const std::size_t page_bytes = system_page_bytes();
  const std::size_t used_bytes = slab->fresh * std::size_t{class_of_slab(slab).block_bytes};
  std::size_t dropped_bytes = 0;
  std::size_t run_begin = 0;
  std::size_t run_bytes = 0;
  for (std::size_t page = 0; page < used_bytes; page += page_bytes) {
    if (!can_drop(slab, free, map->words, page, page_bytes)) continue;
    const std::uint32_t count = drop_blocks_of(slab, free, map->words, page, page_bytes);
    map->count += count;
    slab->carved = static_cast<std::uint16_t>(slab->carved - count);
    add_unlisted(slab, -static_cast<std::int32_t>(count));
    if (run_begin + run_bytes != page) {
      if (run_bytes != 0) drop_pages(begin_of_slab(slab) + run_begin, run_bytes);
      run_begin = page;
      run_bytes = 0;
    }
    run_bytes += page_bytes;
    dropped_bytes += page_bytes;
  }
  if (run_bytes != 0) drop_pages(begin_of_slab(slab) + run_begin, run_bytes);
  relist_all(slab, free);
  map->hint = 0;
  if (map->count != 0) {
    slab->dropped = number_of(map);
  } else {
    slab->dropped = 0;
    give_map(map);
  }
  counters::add(counters_page->page.purged_bytes, dropped_bytes);
  return dropped_bytes;
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
  counters::add(counters_page->page.second_touch_pages, 1);
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

void lock_dropped_maps() noexcept { maps.lock.lock(counters_page->page.pool_lock); }
void unlock_dropped_maps() noexcept { maps.lock.unlock(); }

}  // namespace heapwright::heap
