// SPDX-License-Identifier: MIT
// Finds blocks that others freed of a sleeping thread's slab (borrowed_blocks.hpp).
//
// Whoever holds a cache's `lists` may take the remote list of a slab in one of its rings: the owner takes
// such a list only from the first slab of a queue, and moves slabs from ring to queue under that lock.
#pragma once

#include <cstdint>

#include "heap/threads/thread_cache.hpp"

namespace heapwright::heap {

// For a request of `size_class`, for which the class `serving` has no block left: takes a list of blocks of
// one of the two from another thread's slab, and returns the first. Null: a fixed number of steps found none.
Block* borrow_block(ThreadCache* own, std::uint32_t serving, std::uint32_t size_class) noexcept;

}  // namespace heapwright::heap
