// SPDX-License-Identifier: MIT
#include "heap/threads/borrowed_blocks.hpp"

#include <bit>

#include "heap/base/counting.hpp"
#include "heap/slabs/misuse.hpp"
#include "heap/slabs/mixed_slab.hpp"
#include "heap/slabs/slab.hpp"
#include "heap/threads/remote_free.hpp"
#include "heap/threads/slab_queue.hpp"

namespace heapwright::heap {

namespace {

BlockList& borrowed_of(ThreadCache* cache, const ClassSlot& slot) noexcept {
  return cache->detached.lists[list_number(slot)];
}

UnitLine* lending_slab(const ThreadCache* cache, const ClassSlot& slot) noexcept {
  return line_of(cache->lent[list_number(slot)]);
}

// The list has no block left.
void close_borrowed(ThreadCache* cache, ClassSlot& slot) noexcept {
  BlockList& list = borrowed_of(cache, slot);
  if (list.countdown() != 0) [[unlikely]] {
    stop_for_lost_blocks(lending_slab(cache, slot));
  }
  clear_steps(cache, slot, list);
  // Both, because they were allocated again: what lives does not change.
  counters::add_owned(slot.taken, list.taken);
  counters::add_owned(slot.returned, list.taken);
  list.taken = 0;
  list.freed = 0;
  const std::uint32_t size_class = cache->detached.size_classes[list_number(slot)];
  cache->detached.in_use &= ~(std::uint32_t{1} << list_number(slot));
  slot.detached = 0;
  hold_units(cache, size_class, 0);
}

// As require_listed(), without what only the slab's owner may read.
void require_lent(const UnitLine* slab, const Block* block) noexcept {
  const auto offset = static_cast<std::size_t>(reinterpret_cast<const char*>(block) - begin_of_slab(slab));
  const std::uint32_t index = block_index(slab->size_class, offset);
  bool is_block =
      index * std::size_t{class_of_slab(slab).block_bytes} == offset && index < capacity_of_slab(slab);
  if (slab->kind == UnitKind::mixed) is_block = offset < unit_bytes && offset % 16 == 0;
  if (!is_block) [[unlikely]] {
    stop_for_lost_blocks(slab);
  }
}

Block* take_from(ThreadCache* own, BlockList& list, std::uint32_t serving,
                 std::uint32_t size_class) noexcept {
  make_current(own, serving, &list, size_class);
  return pop(&list, list.free_list);
}

}  // namespace

bool can_borrow(ThreadCache* cache) noexcept {
  for (std::uint32_t bits = cache->detached.in_use; bits != 0; bits &= bits - 1) {
    count_steps();
    ClassSlot& slot = cache->slots[cache->detached.size_classes[std::countr_zero(bits)]];
    if (has_borrowed(slot) && borrowed_of(cache, slot).free_list == nullptr) close_borrowed(cache, slot);
  }
  return std::countr_one(cache->detached.in_use) < static_cast<int>(DetachedLists::capacity);
}

Block* open_borrowed(ThreadCache* own, const UnitLine* slab, const Chain& blocks, std::uint32_t serving,
                     std::uint32_t size_class) noexcept {
  ClassSlot& slot = own->slots[serving];
  slot.is_used = true;
  own->count(counters::Reason::refill_remote);
  const auto number = static_cast<std::uint32_t>(std::countr_one(own->detached.in_use));
  own->detached.in_use |= std::uint32_t{1} << number;
  own->detached.size_classes[number] = static_cast<std::uint16_t>(serving);
  own->lent[number] = unit_of(slab);
  slot.detached = static_cast<std::uint8_t>(borrowed_list | (number + 1));
  hold_units(own, serving, 0);
  BlockList& list = borrowed_of(own, slot);
  list.free_list = blocks.first;
  list.set_countdown(0 - blocks.count);
  return take_from(own, list, serving, size_class);
}

Block* take_borrowed(ThreadCache* own, std::uint32_t serving, std::uint32_t size_class) noexcept {
  ClassSlot& slot = own->slots[serving];
  BlockList& list = borrowed_of(own, slot);
  if (list.free_list == nullptr) {
    close_borrowed(own, slot);
    return nullptr;
  }
  const UnitLine* slab = lending_slab(own, slot);
  require_lent(slab, list.free_list);
  return take_from(own, list, serving, size_class);
}

bool return_borrowed(ThreadCache* cache) noexcept {
  constexpr int most_blocks = 64;
  for (std::uint32_t i = 0; i < DetachedLists::capacity; ++i) {
    count_steps();
    // Begins with another list each time: the one that was tried last may be in use.
    const std::uint32_t number = (cache->visits + i) % DetachedLists::capacity;
    if ((cache->detached.in_use >> number & 1) == 0) continue;
    ClassSlot& slot = cache->slots[cache->detached.size_classes[number]];
    if (!has_borrowed(slot)) continue;
    BlockList& list = borrowed_of(cache, slot);
    UnitLine* const slab = lending_slab(cache, slot);
    for (int i = 0; i < most_blocks && list.free_list != nullptr; ++i) {
      require_lent(slab, list.free_list);
      Block* const block = pop(&list, list.free_list);
      slab->kind == UnitKind::mixed ? free_mixed(slab, block) : free_remote(slab, block);
    }
    if (list.free_list == nullptr) close_borrowed(cache, slot);
    return true;
  }
  return false;
}

}  // namespace heapwright::heap
