// SPDX-License-Identifier: MIT
// Hardened mode: blocks that were freed wait here before they can be handed out
// again; whoever writes to one meanwhile is found when it leaves. Each thread's
// cache and each private heap has a quarantine of its own, so there is no lock.
#pragma once

#include <cstdint>

#include "heap/threads/thread_cache.hpp"

namespace heapwright::heap {

struct Quarantine {
  static constexpr std::uint32_t capacity = 4096;
  // Above the first, one leaves for each that comes, a branch that is foreseen; above the second, up to four.
  static constexpr std::uint32_t enough_bytes = 224 * 1024;
  static constexpr std::uint32_t most_bytes = 256 * 1024;
  // What a block with pages of its own counts as.
  static constexpr std::uint32_t apart_weight = carve_bytes;

  std::uint32_t first;
  Relaxed<std::uint32_t> count;
  Relaxed<std::uint32_t> bytes;
  Relaxed<std::uint32_t> apart;  // of them have pages of their own
  std::uint32_t until_sample;    // blocks up to the next that gets guard pages of its own
  std::uint64_t random;
  char* blocks[capacity];  // a ring

  // For statistics: of slabs only.
  std::uint32_t slab_blocks() const noexcept { return count - apart; }
  std::uint32_t slab_bytes() const noexcept { return bytes - apart * apart_weight; }
};

// Of a cache that has none. Null: no memory.
Quarantine* make_quarantine(ThreadCache* cache) noexcept;
// The cache's; it is made at the first call. Null: no memory, or no cache.
inline Quarantine* quarantine_of(ThreadCache* cache) noexcept {
  if (cache == nullptr) return nullptr;
  return cache->quarantine != nullptr ? cache->quarantine : make_quarantine(cache);
}

// A block of `line` that was marked as freed; its slab may be any thread's. `cache` is the
// caller's own, or that of a private heap under its lock. Null: the block does not wait.
void put_in_quarantine(ThreadCache* cache, UnitLine* line, char* block) noexcept;

// All leave: of the caller's own cache, or of a private heap under its lock. False: none waited.
bool let_all_go(ThreadCache* cache) noexcept;
// The same of a private heap that is to be destroyed.
void empty_quarantine(ThreadCache* cache) noexcept;

}  // namespace heapwright::heap
