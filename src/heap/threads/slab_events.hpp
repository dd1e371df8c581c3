// SPDX-License-Identifier: MIT
// Reactions to frees in a cache's slabs: a slab is closed, kept, moved to the pool or put
// back into the queue.
#pragma once

#include <cstdint>

#include "heap/base/messages.hpp"
#include "heap/slabs/misuse.hpp"
#include "heap/slabs/slab.hpp"
#include "heap/threads/thread_cache.hpp"

namespace heapwright::heap {

// Called when the slab's countdown reaches 0.
void on_event(ThreadCache* cache, UnitLine* slab) noexcept;

// Frees `block` of `slab`, which `cache` owns.
inline void free_listed(ThreadCache* cache, UnitLine* slab, void* block) noexcept {
  auto* freed = static_cast<Block*>(block);
  if (slab->free_list == freed) [[unlikely]] {
    stop_for_double_free(freed, class_of_slab(slab).block_bytes);
  }
  require_unlinked("free", slab, freed);
  if (push(slab, freed, slab->free_list)) [[unlikely]] {
    on_event(cache, slab);
  }
}

// A slab with a notice from others; null: none. Under the cache's `lists`.
UnitLine* take_notice(ThreadCache* cache) noexcept;

// Handles up to `most` notices from others. False: there are no more.
bool collect_notices(ThreadCache* cache, std::uint32_t most) noexcept;

// The first slab of a queue is exhausted. It may rejoin the queue at once if others freed
// blocks meanwhile. Under the cache's `lists`.
void retire(ThreadCache* cache, UnitLine* slab) noexcept;

// Requests a notice for when all of the slab is free. While no other thread has freed any of
// it, an existing watch suffices: most slabs are used by their owner only, and a locked
// instruction waits for all earlier stores.
Watch watch_rest(UnitLine* slab) noexcept;

// Removes the first slab of a queue, and moves it to the pool if it has blocks. False: it stays, because its
// notice is under way, or because it has three lists (its own, a detached one and a remote one; the pool
// takes two) and will get a notice when all its blocks are free. Under the cache's `lists`.
bool give_up(ThreadCache* cache, UnitLine* slab) noexcept;

// For a cache whose thread has ended: moves one slab with a free block to the pool. False:
// none can be moved.
bool give_up_slab(ThreadCache* cache) noexcept;

}  // namespace heapwright::heap
