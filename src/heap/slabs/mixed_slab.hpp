// SPDX-License-Identifier: MIT
// Sparse slabs of one unit that became memory for blocks of any class: what is free between their blocks is
// found in a bit map, whatever its length. So what one size left behind serves the next one, as in a heap
// that joins free neighbours. Such a slab has no owner and is in no queue; its line keeps the class it had.
//
// A line of this kind (UnitKind::mixed) has in `taken` the 16-byte granules in use, in `rest` the blocks, in
// `freed` one bit for each page that may be resident, in `units` the longest hole found, in granules, at
// least 1; `dropped` is the number of its map. All of this is under one lock. `remote` is armed for one
// block: a thread that took the block for one of the slab, which became mixed meanwhile, settles it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/base/lock.hpp"
#include "heap/slabs/dropped_blocks.hpp"
#include "heap/slabs/slab_line.hpp"

namespace heapwright::heap {

inline bool can_mix(const UnitLine* slab) noexcept {
  return slab->units == 1 && class_of_slab(slab).block_bytes % 16 == 0 && !has_flag(slab, is_guarded);
}
// Makes a slab of the caller mixed: unwatched, without lists; `free` has its free blocks, `map` those without
// pages. Afterwards it is no longer the caller's, and neither is the map.
void mix(UnitLine* slab, DroppedMap* map, const std::uint64_t* free) noexcept;

bool has_mixed_slabs() noexcept;
std::size_t mixed_bytes() noexcept;

// Some blocks for the class, all of one slab and aligned as the class's are. No slab: none has room.
struct MixedBlocks {
  UnitLine* slab;
  Chain blocks;
};
MixedBlocks carve_mixed(std::uint32_t size_class) noexcept;

// Stops the process unless a block begins there.
void free_mixed(UnitLine* slab, void* block) noexcept;
std::size_t mixed_block_bytes(const char* function, const UnitLine* slab, const void* block) noexcept;
// For the thread whose remote free disarmed the slab.
void settle_mixed(UnitLine* slab) noexcept;

// Returns the free pages of a slab of which nothing was freed for `least_age` ticks, oldest first; one caller
// at a time. False: there is none.
bool purge_mixed(std::uint16_t now, std::uint16_t least_age) noexcept;
bool has_unpurged_mixed() noexcept;

// Blocks that left the counts of their class when their slabs became mixed.
std::uint64_t mixed_away(std::uint32_t size_class) noexcept;

Lock& mixed_lock() noexcept;
bool mixed_is_valid(const UnitLine* slab) noexcept;

}  // namespace heapwright::heap
