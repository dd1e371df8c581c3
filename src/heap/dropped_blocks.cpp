// SPDX-License-Identifier: MIT
#include "heap/dropped_blocks.hpp"

#include <algorithm>
#include <bit>

#include "heap/counting.hpp"
#include "heap/lock.hpp"
#include "heap/misuse.hpp"
#include "heap/page_source.hpp"
#include "heap/system_pages.hpp"

namespace heapwright::heap {

struct DroppedMap {
  std::uint64_t words[dropped_map_words];
  DroppedMap* next_free;
  std::uint32_t count;
  std::uint32_t hint;  // no bit is set in the words before
};

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

// Calls visit(word, mask) for each word that has bits of [begin, end); false as soon as it says so.
bool for_each_word(std::uint32_t begin, std::uint32_t end, auto visit) noexcept {
  while (begin < end) {
    count_steps();
    const std::uint32_t in_word = std::min(end - begin, 64 - begin % 64);
    const std::uint64_t mask = (in_word == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << in_word) - 1)
                               << begin % 64;
    if (!visit(begin / 64, mask)) return false;
    begin += in_word;
  }
  return true;
}

// Whether every block that touches the page is free or dropped.
bool can_drop(const UnitLine* slab, const std::uint64_t* free, const std::uint64_t* dropped,
              std::size_t page_offset, std::size_t page_bytes) noexcept {
  const std::uint32_t first = block_index(slab->size_class, page_offset);
  const std::uint32_t last = block_index(slab->size_class, page_offset + page_bytes - 1);
  return for_each_word(
      first, std::min<std::uint32_t>(last + 1, slab->fresh),
      [&](std::uint32_t word, std::uint64_t mask) { return ((free[word] | dropped[word]) & mask) == mask; });
}

// Blocks that begin in a dropped page leave circulation.
std::uint32_t drop_blocks_of(const UnitLine* slab, std::uint64_t* free, std::uint64_t* dropped,
                             std::size_t page_offset, std::size_t page_bytes) noexcept {
  const std::size_t bytes = class_of_slab(slab).block_bytes;
  const auto first = static_cast<std::uint32_t>((page_offset + bytes - 1) / bytes);
  const auto end = static_cast<std::uint32_t>((page_offset + page_bytes + bytes - 1) / bytes);
  std::uint32_t count = 0;
  for_each_word(first, std::min<std::uint32_t>(end, slab->fresh),
                [&](std::uint32_t word, std::uint64_t mask) {
                  const std::uint64_t moved = free[word] & mask;
                  free[word] &= ~moved;
                  dropped[word] |= moved;
                  count += static_cast<std::uint32_t>(std::popcount(moved));
                  return true;
                });
  return count;
}

}  // namespace

// Both lists become marks; all of the blocks count as listed afterwards.
bool PagePurge::begin(UnitLine* slab) noexcept {
  map_ = slab->dropped != 0 ? map_of(slab->dropped) : take_map();
  if (map_ == nullptr) return false;
  if (slab->dropped == 0) *map_ = DroppedMap{};
  slab_ = slab;
  listed_ = take_listed(slab);
  remote_ = take_remote(slab);
  std::fill_n(free_, dropped_map_words, 0);
  page_ = 0;
  word_ = 0;
  dropped_bytes_ = 0;
  tail_ = nullptr;
  return true;
}

bool PagePurge::step() noexcept {
  std::uint32_t left = 512;
  const auto mark = [&](Chain* list) {
    const std::uint32_t before = list->count;
    mark_some(slab_, list, left, free_);
    left -= before - list->count;
  };
  if (listed_.count != 0) mark(&listed_);
  if (listed_.count == 0 && remote_.count != 0) mark(&remote_);
  if (listed_.count + remote_.count != 0) return true;
  const std::size_t used_bytes = slab_->fresh * std::size_t{class_of_slab(slab_).block_bytes};
  if (page_ < used_bytes) drop_some();
  if (page_ < used_bytes || !relist_some(left)) return true;
  end();
  return false;
}

// Pages within the next unit.
void PagePurge::drop_some() noexcept {
  const std::size_t page_bytes = system_page_bytes();
  const std::size_t used_bytes = slab_->fresh * std::size_t{class_of_slab(slab_).block_bytes};
  const std::size_t end = std::min(used_bytes, page_ / unit_bytes * unit_bytes + unit_bytes);
  std::size_t run_begin = page_;
  std::size_t run_bytes = 0;
  for (; page_ < end; page_ += page_bytes) {
    if (!can_drop(slab_, free_, map_->words, page_, page_bytes)) continue;
    const std::uint32_t count = drop_blocks_of(slab_, free_, map_->words, page_, page_bytes);
    map_->count += count;
    slab_->carved = static_cast<std::uint16_t>(slab_->carved - count);
    add_unlisted(slab_, -static_cast<std::int32_t>(count));
    if (run_begin + run_bytes != page_) {
      if (run_bytes != 0) drop_pages(begin_of_slab(slab_) + run_begin, run_bytes);
      run_begin = page_;
      run_bytes = 0;
    }
    run_bytes += page_bytes;
    dropped_bytes_ += page_bytes;
  }
  if (run_bytes != 0) drop_pages(begin_of_slab(slab_) + run_begin, run_bytes);
}

bool PagePurge::relist_some(std::uint32_t most) noexcept {
  const std::size_t bytes = class_of_slab(slab_).block_bytes;
  const std::uint32_t end = (slab_->fresh + 63U) / 64;
  for (std::uint32_t left = most; word_ < end && left > 64; ++word_) {
    left -= static_cast<std::uint32_t>(std::popcount(free_[word_])) + 1;
    for (std::uint64_t bits = free_[word_]; bits != 0; bits &= bits - 1) {
      count_steps();
      const std::size_t index = word_ * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
      auto* block = reinterpret_cast<Block*>(begin_of_slab(slab_) + index * bytes);
      block->next = nullptr;
      (tail_ != nullptr ? tail_->next : slab_->free_list) = block;
      tail_ = block;
      add_unlisted(slab_, -1);
    }
  }
  return word_ >= end;
}

void PagePurge::end() noexcept {
  map_->hint = 0;
  if (map_->count != 0) {
    slab_->dropped = number_of(map_);
  } else {
    slab_->dropped = 0;
    give_map(map_);
  }
  counters::add(counters_page->heap.purged_bytes, dropped_bytes_);
  slab_ = nullptr;
}

std::size_t drop_free_pages(UnitLine* slab) noexcept {
  PagePurge purge{};
  if (!purge.begin(slab)) return 0;
  while (purge.step()) {
  }
  return purge.dropped_bytes();
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
