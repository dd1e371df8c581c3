// SPDX-License-Identifier: MIT
// When a size class that a coarser one serves gets slabs of its own.
#pragma once

#include <cstdint>

#include "heap/slabs/partial_pool.hpp"
#include "heap/threads/thread_cache.hpp"

namespace heapwright::heap {

// A class that a coarser one serves gets a slab of its own instead of another
// one of the coarser class, once that holds so much: the memory saved is then
// worth a slab partly used. One that asks more than the others, sooner.
inline constexpr std::uint32_t units_before_promotion = 64;
inline constexpr std::uint32_t units_before_favourite = 4;
inline constexpr std::uint32_t votes_of_favourite = 8;
// And of the memory in sparse slabs that have no owner, so much. Where that is a lot, sizes come and go, and
// each would leave slabs that none of the others can use.
inline constexpr std::uint32_t share_of_sparse = 4;

// Whether `size_class` is to get a slab of its own, now that its coarser one
// would need another.
inline bool is_promoted(const ThreadCache* cache, std::uint32_t size_class) noexcept {
  const std::uint32_t coarse_class = size_classes[size_class].coarse;
  const ClassSlot& coarse = cache->slots[coarse_class];
  if (coarse.held_units < pooled_bytes() / unit_bytes / share_of_sparse) return false;
  if (coarse.held_units >= units_before_promotion) return true;
  return coarse.held_units >= units_before_favourite && coarse.votes >= votes_of_favourite &&
         coarse.favourite == coarse_class - size_class;
}

inline void vote(ThreadCache* cache, std::uint32_t size_class) noexcept {
  const std::uint32_t coarse_class = size_classes[size_class].coarse;
  const auto candidate = static_cast<std::uint8_t>(coarse_class - size_class);
  ClassSlot& coarse = cache->slots[coarse_class];
  if (coarse.votes == 0) coarse.favourite = candidate;
  if (coarse.favourite != candidate) {
    --coarse.votes;
  } else if (coarse.votes < votes_of_favourite) {
    ++coarse.votes;
  }
}

}  // namespace heapwright::heap
