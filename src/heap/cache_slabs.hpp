// SPDX-License-Identifier: MIT
// What a cache's slabs look like, for those who keep them and those who check.
#pragma once

#include "heap/thread_cache.hpp"

namespace heapwright::heap {

inline bool has_slabs(const ThreadCache* cache, std::uint32_t size_class) noexcept {
  return (cache->with_slabs[size_class / 64] >> size_class % 64 & 1) != 0;
}

inline std::uint32_t used_bytes(const UnitLine* slab) noexcept {
  return slab->fresh * class_of_slab(slab).block_bytes;
}

inline bool has_blocks(const UnitLine* slab) noexcept {
  return slab->free_list != nullptr || can_carve(slab) || remote_of(slab).has_blocks();
}

}  // namespace heapwright::heap
