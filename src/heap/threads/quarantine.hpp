// SPDX-License-Identifier: MIT
// Hardened mode: freed blocks wait here before they can be allocated again; a write to one
// is detected when it leaves. Each thread's cache and each private heap has its own
// quarantine, so there is no lock.
#pragma once

#include <cstdint>

#include "heap/threads/thread_cache.hpp"

namespace heapwright::heap {

struct Quarantine {
  static constexpr std::uint32_t capacity = 4096;
  // Above the first, one block leaves per block added, a predictable branch; above the second, up to four.
  static constexpr std::uint32_t enough_bytes = 224 * 1024;
  static constexpr std::uint32_t most_bytes = 256 * 1024;
  // The weight of a block with its own pages.
  static constexpr std::uint32_t apart_weight = carve_bytes;

  std::uint32_t first;
  Relaxed<std::uint32_t> count;
  Relaxed<std::uint32_t> bytes;
  Relaxed<std::uint32_t> apart;  // blocks with their own pages
  std::uint32_t until_sample;    // blocks up to the next one with guard pages
  std::uint64_t random;
  char* blocks[capacity];  // a ring buffer

  // For statistics: only blocks in slabs.
  std::uint32_t slab_blocks() const noexcept { return count - apart; }
  std::uint32_t slab_bytes() const noexcept { return bytes - apart * apart_weight; }
};

// For a cache without one. Null: no memory.
Quarantine* make_quarantine(ThreadCache* cache) noexcept;
// The cache's quarantine, made at the first call. Null: no memory, or no cache.
inline Quarantine* quarantine_of(ThreadCache* cache) noexcept {
  if (cache == nullptr) return nullptr;
  return cache->quarantine != nullptr ? cache->quarantine : make_quarantine(cache);
}

// Adds a block of `line` that is marked as freed; its slab may be any thread's. `cache` is
// the caller's, or that of a private heap under its lock. Null: frees the block at once.
void put_in_quarantine(ThreadCache* cache, UnitLine* line, char* block) noexcept;

// Removes all blocks, from the caller's cache or from a private heap under its lock. False: it was empty.
bool let_all_go(ThreadCache* cache) noexcept;
// The same for a private heap that will be destroyed.
void empty_quarantine(ThreadCache* cache) noexcept;

}  // namespace heapwright::heap
