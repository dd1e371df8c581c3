// SPDX-License-Identifier: MIT
// Decides when a size class that a coarser one serves gets its own slabs.
#pragma once

#include <cstdint>

#include "heap/slabs/mixed_slab.hpp"
#include "heap/slabs/partial_pool.hpp"
#include "heap/threads/thread_cache.hpp"

namespace heapwright::heap {

// Instead of another coarse slab, a class gets its own slab once the coarser class holds
// this much: the saved memory then outweighs a partly used slab. A class with most of the
// requests gets it earlier.
inline constexpr std::uint32_t units_before_promotion = 64;
inline constexpr std::uint32_t units_before_favourite = 4;
inline constexpr std::uint32_t votes_of_favourite = 8;
// The coarser class must also hold a quarter of the memory in sparse slabs without owner. If those hold more,
// sizes come and go, and each would leave slabs that other sizes cannot use.
inline constexpr std::uint32_t share_of_sparse = 4;

// Whether `size_class` gets its own slab when its coarser class needs another one.
inline bool is_promoted(const ThreadCache* cache, std::uint32_t size_class) noexcept {
  const std::uint32_t coarse_class = size_classes[size_class].coarse;
  const ClassSlot& coarse = cache->slots[coarse_class];
  if (coarse.held_units < (pooled_bytes() + mixed_bytes()) / unit_bytes / share_of_sparse) return false;
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
