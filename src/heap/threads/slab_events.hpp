// SPDX-License-Identifier: MIT
// What happens to a cache's slabs when blocks have come back: a slab is closed,
// kept, given to the pool or put into the queue again.
#pragma once

#include <cstdint>

#include "heap/base/messages.hpp"
#include "heap/slabs/slab.hpp"
#include "heap/threads/thread_cache.hpp"

namespace heapwright::heap {

// What is to be done when the countdown of the slab has reached 0.
void on_event(ThreadCache* cache, UnitLine* slab) noexcept;

// `block` of `slab`, which `cache` owns.
inline void free_listed(ThreadCache* cache, UnitLine* slab, void* block) noexcept {
  auto* freed = static_cast<Block*>(block);
  if (slab->free_list == freed) [[unlikely]] {
    stop_for_double_free(freed, class_of_slab(slab).block_bytes);
  }
  if (push(slab, freed, slab->free_list)) [[unlikely]] {
    on_event(cache, slab);
  }
}

// A slab that others sent a notice of, and that nobody else works on now; null: none.
// Under the cache's lists.
UnitLine* take_notice(ThreadCache* cache) noexcept;

// Looks at up to `most` slabs that others sent notices of. False: there are no more.
bool collect_notices(ThreadCache* cache, std::uint32_t most) noexcept;

// The first slab of a queue has nothing left. It may be back in the queue at
// once, if others freed blocks meanwhile. Under the cache's lists.
void retire(ThreadCache* cache, UnitLine* slab) noexcept;

// Told when all of the slab is back. As long as none of it comes from others, the
// watch that there is will do: most slabs come and go by their owner's calls,
// and a locked instruction waits for all that the program wrote before it.
Watch watch_rest(UnitLine* slab) noexcept;

// The first slab of a queue leaves it, for the pool if it has blocks. False: it stays, since a notice about
// it is under way, or one will come when all of its blocks are free: it has blocks of its own, in a detached
// list and freed by others, and the pool takes two lists. Under the cache's lists.
bool give_up(ThreadCache* cache, UnitLine* slab) noexcept;

// Of a cache whose thread has ended: one slab with a free block goes to the
// pool. False: there is none that can.
bool give_up_slab(ThreadCache* cache) noexcept;

}  // namespace heapwright::heap
