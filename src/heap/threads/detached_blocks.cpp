// SPDX-License-Identifier: MIT
#include "heap/threads/detached_blocks.hpp"

#include <bit>

#include "heap/slabs/slab.hpp"

namespace heapwright::heap {

BlockList* open_detached(ThreadCache* cache, const UnitLine* slab) noexcept {
  if (cache->is_private || has_borrowed(cache->slots[slab->size_class])) return nullptr;
  if (BlockList* list = detached_list(cache, slab)) return list;
  DetachedLists& lists = cache->detached;
  const auto number = static_cast<std::uint32_t>(std::countr_one(lists.in_use));
  if (number == DetachedLists::capacity) return nullptr;
  lists.in_use |= std::uint32_t{1} << number;
  lists.size_classes[number] = slab->size_class;
  cache->slots[slab->size_class].detached = static_cast<std::uint8_t>(number + 1);
  return &lists.lists[number];
}

void close_detached(ThreadCache* cache, UnitLine* slab) noexcept {
  BlockList* list = detached_list(cache, slab);
  if (list == nullptr) return;
  ClassSlot& slot = cache->slots[slab->size_class];
  slab->add_taken(list->taken);
  list->free_list = nullptr;
  list->freed = 0;
  list->taken = 0;
  cache->detached.in_use &= ~(std::uint32_t{1} << (slot.detached - 1));
  slot.detached = 0;
}

bool attach_blocks(ThreadCache* cache, UnitLine* slab) noexcept {
  BlockList* list = detached_list(cache, slab);
  if (list == nullptr || list->free_list == nullptr) return true;
  const Chain left{list->free_list, 0 - list->countdown()};
  if (slab->free_list == nullptr) {
    relist(slab, left);
  } else if (!put_remote(slab, left)) {
    return false;
  }
  list->free_list = nullptr;
  list->set_countdown(0);
  return true;
}

bool detached_is_valid(const ThreadCache* cache, const UnitLine* slab) noexcept {
  const ClassSlot& slot = cache->slots[slab->size_class];
  const std::uint8_t number = slot.detached;
  if (number == 0 || has_borrowed(slot) || slot.first != unit_of(slab)) return true;
  if ((cache->detached.in_use >> (number - 1) & 1) == 0) return false;
  std::uint32_t count = 0 - cache->detached.lists[number - 1].countdown();
  if (count + remote_of(slab).count() > unlisted_count(slab)) return false;
  const Block* block = cache->detached.lists[number - 1].free_list;
  for (; block != nullptr && count != 0; block = block->next(), --count) {
    const auto offset = static_cast<std::size_t>(reinterpret_cast<const char*>(block) - begin_of_slab(slab));
    if (offset >= slab->units * unit_bytes) return false;
  }
  return block == nullptr && count == 0;
}

}  // namespace heapwright::heap
