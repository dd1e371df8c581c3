// SPDX-License-Identifier: MIT
// Blocks that others freed, in a list of the owner's cache (DetachedLists).
// At most one slab of each class has some: the first of the queue. All for the
// owner, each in a fixed number of steps.
#pragma once

#include <cstdint>

#include "heap/threads/thread_cache.hpp"

namespace heapwright::heap {

// Null: none of the slab's blocks are in a list of the cache.
inline BlockList* detached_list(ThreadCache* cache, const UnitLine* slab) noexcept {
  const ClassSlot& slot = cache->slots[slab->size_class];
  if (slot.detached == 0 || slot.first != unit_of(slab)) return nullptr;
  return &cache->detached.lists[slot.detached - 1];
}

// Where malloc is to look for a block of the slab.
inline BlockList* ready_list(ThreadCache* cache, UnitLine* slab) noexcept {
  BlockList* list = detached_list(cache, slab);
  return list != nullptr && list->free_list != nullptr ? list : slab;
}

inline std::uint32_t detached_count(ThreadCache* cache, const UnitLine* slab) noexcept {
  const BlockList* list = detached_list(cache, slab);
  return list == nullptr ? 0 : 0 - list->countdown();
}

// The list for what others freed of the first slab of a queue. Null: there is none left.
BlockList* open_detached(ThreadCache* cache, const UnitLine* slab) noexcept;
// What is left of the list goes nowhere: the slab is taken apart, or has it already.
void close_detached(ThreadCache* cache, UnitLine* slab) noexcept;
// Gives what is left back to the slab. False: both its lists have blocks, and
// joining two would take as many steps as one is long.
bool attach_blocks(ThreadCache* cache, UnitLine* slab) noexcept;

// Every block of the slab's detached list is inside, and there are as many as
// counted. For tests.
bool detached_is_valid(const ThreadCache* cache, const UnitLine* slab) noexcept;

}  // namespace heapwright::heap
