// SPDX-License-Identifier: MIT
// Blocks of a slab whose pages were returned to the kernel. A list would need those
// pages, so a bit map holds them.
#pragma once

#include <cstdint>

#include "heap/base/lock.hpp"
#include "heap/slabs/slab_line.hpp"

namespace heapwright::heap {

struct DroppedMap {
  std::uint64_t words[slab_map_words];
  DroppedMap* next_free;
  std::uint32_t count;
  std::uint32_t hint;  // words before it have no bit set
};

// For a slab that has a map. Its number, from 1, is UnitLine::dropped.
DroppedMap* map_of(const UnitLine* slab) noexcept;
std::uint16_t number_of(const DroppedMap* map) noexcept;
// An unused map for the slab. Null: no memory.
DroppedMap* take_map(const UnitLine* slab) noexcept;
void give_map(const UnitLine* slab, DroppedMap* map) noexcept;

// A batch of dropped blocks in one page; slab->dropped is 0 after the last.
Chain carve_dropped(UnitLine* slab) noexcept;

std::uint32_t dropped_count(const UnitLine* slab) noexcept;
// After a fork in the middle of carve_dropped(): recounts the marks.
void recount_dropped(UnitLine* slab) noexcept;
void free_dropped_map(UnitLine* slab) noexcept;

Lock& dropped_maps_lock() noexcept;

}  // namespace heapwright::heap
