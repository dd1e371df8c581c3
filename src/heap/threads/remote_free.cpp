// SPDX-License-Identifier: MIT
#include "heap/threads/remote_free.hpp"

#include "heap/base/counting.hpp"
#include "heap/base/messages.hpp"
#include "heap/slabs/partial_pool.hpp"
#include "heap/slabs/slab.hpp"
#include "heap/threads/take_over.hpp"
#include "heap/threads/thread_cache.hpp"

namespace heapwright::heap {

namespace {

void push_notice(ThreadCache* cache, UnitLine* slab) noexcept {
  std::uint32_t first = cache->notified.load(std::memory_order_relaxed);
  do {
    slab->second_next = first;
  } while (!cache->notified.compare_exchange_weak(first, unit_of(slab), std::memory_order_acq_rel,
                                                  std::memory_order_relaxed));
}

// The slab keeps its owner until this notice has been dealt with. The one
// exception: a slab in the pool may be claimed meanwhile, and then the claimer
// is to be told.
void tell_owner(UnitLine* slab) noexcept {
  count_reason(counters::Reason::remote_notice);
  ThreadCache* owner = slab->owner.load(std::memory_order_acquire);
  if (owner == nullptr) {
    if (claim_this_slab(slab)) {
      clear_flag(slab, is_watched);
      return close_slab(slab);
    }
    owner = slab->owner.load(std::memory_order_acquire);
  }
  push_notice(owner, slab);
}

}  // namespace

void free_remote(UnitLine* slab, void* block) noexcept {
  const auto offset = static_cast<std::size_t>(static_cast<char*>(block) - begin_of_slab(slab));
  char* const begin = begin_of_slab(slab);
  // Once the block is pushed, the slab may be anybody's.
  const std::uint32_t capacity = capacity_of_slab(slab);
  RemoteWord word{slab->remote.load(std::memory_order_relaxed)};
  RemoteWord pushed{};
  do {
    count_steps();
    if (word.has_blocks() && word.head_offset() == offset) [[unlikely]] {
      stop_for_double_free(block, class_of_slab(slab).block_bytes);
    }
    static_cast<Block*>(block)->set_next(
        word.has_blocks() ? reinterpret_cast<Block*>(begin + word.head_offset()) : nullptr);
    pushed = word.pushed(offset);
  } while (!slab->remote.compare_exchange_weak(word.bits, pushed.bits, std::memory_order_acq_rel,
                                               std::memory_order_relaxed));
  if (pushed.is_armed()) return;
  if (word.is_armed()) {
    tell_owner(slab);
  } else if (pushed.count() != capacity) {
    return;
  }
  note_if_returned(slab, capacity);
}

}  // namespace heapwright::heap
