// SPDX-License-Identifier: MIT
// Blocks above slab_limit_bytes: a run of units each, of which only the pages
// asked for are ever touched.
#pragma once

#include <cstddef>

#include "heap/pages/region.hpp"

namespace heapwright::heap {

// A free of more than this gives pages back: the block's own, or, if somebody makes room
// for it before, those that were freed longest ago.
inline constexpr std::size_t huge_bytes = std::size_t{16} << 20;

struct KeptRuns;

struct LargeBlock {
  void* memory;  // null: no memory
  bool is_zeroed;
};

// `alignment` is a power of two; `owner` is the cache of a private heap or null.
LargeBlock allocate_large(std::size_t bytes, std::size_t alignment, ThreadCache* owner) noexcept;
// The same for the calling thread, of what it has kept. Null: that is nothing so long.
LargeBlock allocate_kept(std::size_t bytes, KeptRuns* kept) noexcept;
// For realloc, which makes a block of more than slab_limit_bytes longer: where
// it can be made longer again in its place, if there is room. Null: no memory.
void* allocate_grown(std::size_t bytes) noexcept;
// Zeroed, between units that can be neither read nor written, as far as mappings last and
// the alignment is no more than a unit's.
LargeBlock allocate_guarded(std::size_t bytes, std::size_t alignment, ThreadCache* owner) noexcept;
// The pages of the first `bytes` of a guarded block, in place of those of another, which is new. How many of
// the bytes that are: none, where copying takes no longer or the kernel refuses.
struct MovedBytes {
  std::size_t bytes;
  bool is_mapped;  // false: the new block's pages are gone, and there is no memory for others
};
MovedBytes move_guarded(UnitLine* from, UnitLine* to, std::size_t bytes) noexcept;
// The block was freed: out of reach until it is freed here as well.
void withdraw_large(UnitLine* line) noexcept;
void free_guarded(UnitLine* line) noexcept;

// `line` describes a large block. `kept`, if not null, is where the calling thread may keep its memory.
void free_large(UnitLine* line, KeptRuns* kept = nullptr) noexcept;

// The block at another size, at the same place or with its pages moved. Null,
// and nothing changed: allocate, copy and free.
void* resize_large(UnitLine* line, std::size_t bytes) noexcept;

}  // namespace heapwright::heap
