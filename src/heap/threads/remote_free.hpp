// SPDX-License-Identifier: MIT
// Frees blocks of slabs that belong to another thread or have no owner.
#pragma once

#include "heap/pages/region.hpp"

namespace heapwright::heap {

struct ThreadCache;

// One compare-and-swap on the slab's line, lock-free; the free that completes the count
// requested by the owner also sends the notice.
void free_remote(UnitLine* slab, void* block) noexcept;

// The same, delayed by sixteen such frees of this thread: writing the link needs the block's cache line from
// the other processor, and the compare-and-swap would wait for it. Meanwhile the line is prefetched, and the
// block counts as live. Blocks of private heaps or above 1 KiB are not delayed. `cache` is the calling
// thread's.
void free_remote_later(ThreadCache* cache, UnitLine* slab, void* block) noexcept;
// Frees all delayed blocks.
void free_delayed(ThreadCache* cache) noexcept;

}  // namespace heapwright::heap
