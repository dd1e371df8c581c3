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
  // With this much the oldest blocks leave; blocks out of reach count as a page.
  static constexpr std::uint32_t most_bytes = 256 * 1024;

  std::uint32_t first;
  std::uint32_t count;
  std::uint32_t bytes;
  std::uint32_t until_sample;  // blocks up to the next that gets guard pages of its own
  std::uint64_t random;
  // Of slabs, for statistics.
  Relaxed<std::uint64_t> slab_blocks;
  Relaxed<std::uint64_t> slab_bytes;
  char* blocks[capacity];  // a ring
};

// The cache's; it is made at the first call. Null: no memory.
Quarantine* quarantine_of(ThreadCache* cache) noexcept;

// A block of `line` that was marked as freed; its slab may be any thread's. `cache` is the
// caller's own, or that of a private heap under its lock. Null: the block does not wait.
void put_in_quarantine(ThreadCache* cache, UnitLine* line, char* block) noexcept;

// All leave: of the caller's own cache, or of a private heap under its lock. False: none waited.
bool let_all_go(ThreadCache* cache) noexcept;
// The same of a private heap that is to be destroyed.
void empty_quarantine(ThreadCache* cache) noexcept;

}  // namespace heapwright::heap
