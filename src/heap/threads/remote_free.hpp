// SPDX-License-Identifier: MIT
// Freeing a block of a slab that belongs to another thread, or to nobody.
#pragma once

#include "heap/pages/region.hpp"

namespace heapwright::heap {

struct ThreadCache;

// One compare-and-swap on the slab's line, without waiting for anyone; the
// free that completes the count the owner asked for also tells the owner.
void free_remote(UnitLine* slab, void* block) noexcept;

// The same, sixteen such frees of this thread later: the link is written into the block, which the other
// thread's processor has still, and the compare-and-swap waits for that. Meanwhile the line comes.
// Until then the block counts as live. One of a private heap, or above 1 KiB, does not wait. `cache` is the
// calling thread's.
void free_remote_later(ThreadCache* cache, UnitLine* slab, void* block) noexcept;
// All that wait are freed.
void free_delayed(ThreadCache* cache) noexcept;

}  // namespace heapwright::heap
