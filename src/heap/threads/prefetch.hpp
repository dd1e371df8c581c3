// SPDX-License-Identifier: MIT
// Fetches what a thread's search for another slab will look at.
#pragma once

#include <cstdint>

#include "heap/pages/page_source.hpp"
#include "heap/slabs/partial_pool.hpp"
#include "heap/threads/thread_cache.hpp"

namespace heapwright::heap {

// What a search for another slab looks at has not been used for long: it is
// fetched all at once, not one after the other.
inline void prefetch_search(const ThreadCache* cache, std::uint32_t size_class) noexcept {
  const std::uint32_t coarse = size_classes[size_class].coarse;
  __builtin_prefetch(&cache->slots[size_class], 1);
  __builtin_prefetch(&cache->slots[coarse], 1);
  __builtin_prefetch(&cache->reasons[static_cast<std::uint32_t>(counters::Reason::refill_cold)], 1);
  __builtin_prefetch(line_of(cache->lot.unit), 1);  // in a private heap: its spare run
  prefetch_claim(size_class);
  prefetch_claim(coarse);
  prefetch_run();
}

inline void prefetch_waiting(const ThreadCache* cache, std::uint32_t size_class) noexcept {
  const ClassSlot& slot = cache->slots[size_class];
  if (slot.waiting != 0) __builtin_prefetch(line_of(line_of(slot.waiting)->next), 1);
}

}  // namespace heapwright::heap
