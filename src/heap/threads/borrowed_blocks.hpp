// SPDX-License-Identifier: MIT
// Blocks of another thread's slabs that others freed, in a list of this cache (DetachedLists). The slabs stay
// their owner's, for which these blocks are allocated; freed again, they go back as any block of another
// thread does. So the memory of threads that sleep serves those that run. Blocks of mixed slabs are in such
// lists as well. All functions are for the owner of
// the cache and take a bounded number of steps.
#pragma once

#include <cstdint>

#include "heap/slabs/slab_line.hpp"
#include "heap/threads/thread_cache.hpp"

namespace heapwright::heap {

// Whether there is a place for another list.
bool can_borrow(ThreadCache* own) noexcept;

// The first of `blocks`, of another thread's slab or a mixed one, for the class `serving`, which has none
// here; the rest becomes the class's list, current for `size_class`.
Block* open_borrowed(ThreadCache* own, const UnitLine* slab, const Chain& blocks, std::uint32_t serving,
                     std::uint32_t size_class) noexcept;

// The next block of the class's list, which becomes current for `size_class`. Null: it had none left, and is
// closed.
Block* take_borrowed(ThreadCache* own, std::uint32_t serving, std::uint32_t size_class) noexcept;

// For a cache whose thread has ended: frees some of the blocks of its lists. False: it has none.
bool return_borrowed(ThreadCache* cache) noexcept;

}  // namespace heapwright::heap
