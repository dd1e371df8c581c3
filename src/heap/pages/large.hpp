// SPDX-License-Identifier: MIT
// Blocks above slab_limit_bytes: each is a run of units, of which only the requested
// pages are touched.
#pragma once

#include <cstddef>

#include "heap/pages/region.hpp"

namespace heapwright::heap {

// A free of more than this returns pages: the block's own, or, after
// make_room_for_dirty(), those freed longest ago.
inline constexpr std::size_t huge_bytes = std::size_t{16} << 20;

struct KeptRuns;

struct LargeBlock {
  void* memory;  // null: no memory
  bool is_zeroed;
};

// `alignment` is a power of two; `owner` is the cache of a private heap or null.
LargeBlock allocate_large(std::size_t bytes, std::size_t alignment, ThreadCache* owner) noexcept;
// From the calling thread's kept runs. Null: none is long enough.
LargeBlock allocate_kept(std::size_t bytes, KeptRuns* kept) noexcept;
// For realloc that grows a block of `old_bytes` to one above slab_limit_bytes: where it can grow again in
// place, if there is room. Null: no memory.
void* allocate_grown(std::size_t bytes, std::size_t old_bytes) noexcept;
// Zeroed and between guard units, while mappings suffice and the alignment is at most a
// unit.
LargeBlock allocate_guarded(std::size_t bytes, std::size_t alignment, ThreadCache* owner) noexcept;
// Moves the pages of the first `bytes` of a guarded block into a new one and returns how many bytes that
// moved: 0 if copying is as fast or the kernel refuses.
struct MovedBytes {
  std::size_t bytes;
  bool is_mapped;  // false: the new block's pages are gone, and there is no memory for others
};
MovedBytes move_guarded(UnitLine* from, UnitLine* to, std::size_t bytes) noexcept;
// Makes a freed block inaccessible until free_guarded().
void withdraw_large(UnitLine* line) noexcept;
void free_guarded(UnitLine* line) noexcept;

// `line` describes a large block. If `kept` is not null, the calling thread may keep the run there.
void free_large(UnitLine* line, KeptRuns* kept = nullptr) noexcept;

// Resizes the block in place or by moving its pages. Null: nothing changed; the caller
// must allocate, copy and free.
void* resize_large(UnitLine* line, std::size_t bytes) noexcept;

}  // namespace heapwright::heap
