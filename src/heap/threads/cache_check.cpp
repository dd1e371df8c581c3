// SPDX-License-Identifier: MIT
#include "heap/threads/cache_check.hpp"

#include <algorithm>

#include "heap/slabs/slab.hpp"
#include "heap/threads/detached_blocks.hpp"

namespace heapwright::heap {

namespace {

bool ring_is_valid(const ThreadCache* cache, std::uint32_t size_class) noexcept {
  const std::uint32_t oldest = cache->slots[size_class].waiting;
  for (std::uint32_t unit = oldest; unit != 0;) {
    const UnitLine* slab = line_of(unit);
    if (slab->owner.load() != cache || slab->size_class != size_class) return false;
    if (has_flag(slab, is_listed) || line_of(slab->next)->prev != unit) return false;
    unit = slab->next == oldest ? 0 : slab->next;
  }
  return true;
}

bool is_list_of(const ThreadCache* cache, std::uint32_t size_class, const BlockList* list) noexcept {
  const ClassSlot& slot = cache->slots[size_class];
  if (slot.detached != 0 && list == &cache->detached.lists[list_number(slot)]) {
    return has_borrowed(slot) || slot.first != 0;
  }
  return slot.first != 0 && list == line_of(slot.first);
}

bool current_is_valid(const ThreadCache* cache) noexcept {
  for (std::size_t step = 0; step < step_count; ++step) {
    const BlockList* list = current_list(cache, step);
    if (list == &cache->nothing) continue;
    const std::uint32_t size_class = std::max(class_of(step * step_bytes), 1U);
    if (!is_list_of(cache, size_class, list) && !is_list_of(cache, size_classes[size_class].coarse, list)) {
      return false;
    }
  }
  return true;
}

// `slab` comes after `previous` in the queue of the class.
bool queued_is_valid(const ThreadCache* cache, std::uint32_t size_class, const UnitLine* slab,
                     std::uint32_t previous) noexcept {
  if (slab->owner.load() != cache || slab->size_class != size_class || !has_flag(slab, is_listed)) {
    return false;
  }
  if (slab->prev != previous || (previous != 0 && !has_blocks(slab))) return false;
  return slab_is_valid(slab) && detached_is_valid(cache, slab);
}

}  // namespace

bool cache_is_valid(const ThreadCache* cache) noexcept {
  std::uint64_t kept_bytes = 0;
  for (std::uint32_t c = 0; c < class_count; ++c) {
    std::uint32_t previous = 0;
    for (std::uint32_t unit = cache->slots[c].first; unit != 0; unit = line_of(unit)->next) {
      const UnitLine* slab = line_of(unit);
      if (!queued_is_valid(cache, c, slab, previous)) return false;
      if (has_flag(slab, is_kept)) kept_bytes += used_bytes(slab);
      previous = unit;
    }
    if (cache->slots[c].last != previous || !ring_is_valid(cache, c)) return false;
    const bool has_any = cache->slots[c].held_units != 0 || has_borrowed(cache->slots[c]);
    if (has_slabs(cache, c) != has_any) return false;
  }
  return kept_bytes == cache->kept_bytes && current_is_valid(cache);
}

}  // namespace heapwright::heap
