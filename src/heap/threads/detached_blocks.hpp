// SPDX-License-Identifier: MIT
// Blocks that others freed, in a list of the owner's cache (DetachedLists). At most one
// slab of each class has such a list: the first of the queue. All functions are for the
// owner and take a fixed number of steps.
#pragma once

#include <cstdint>

#include "heap/threads/thread_cache.hpp"

namespace heapwright::heap {

// The slab's list in the cache; null: none.
inline BlockList* detached_list(ThreadCache* cache, const UnitLine* slab) noexcept {
  const ClassSlot& slot = cache->slots[slab->size_class];
  if (slot.detached == 0 || has_borrowed(slot) || slot.first != unit_of(slab)) return nullptr;
  return &cache->detached.lists[slot.detached - 1];
}

// The list from which malloc takes blocks of the slab.
inline BlockList* ready_list(ThreadCache* cache, UnitLine* slab) noexcept {
  BlockList* list = detached_list(cache, slab);
  return list != nullptr && list->free_list != nullptr ? list : slab;
}

inline std::uint32_t detached_count(ThreadCache* cache, const UnitLine* slab) noexcept {
  const BlockList* list = detached_list(cache, slab);
  return list == nullptr ? 0 : 0 - list->countdown();
}

// A list for the blocks that others freed of the first slab of a queue. Null: all lists are in use.
BlockList* open_detached(ThreadCache* cache, const UnitLine* slab) noexcept;
// Closes the list and ignores its blocks: the slab is being dismantled, or already has them.
void close_detached(ThreadCache* cache, UnitLine* slab) noexcept;
// Returns the list's blocks to the slab. False: both lists of the slab have blocks, and
// joining two would take a step per block.
bool attach_blocks(ThreadCache* cache, UnitLine* slab) noexcept;

// Whether every block of the slab's detached list is in the slab, and the count is right.
// For tests.
bool detached_is_valid(const ThreadCache* cache, const UnitLine* slab) noexcept;

}  // namespace heapwright::heap
