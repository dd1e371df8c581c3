// SPDX-License-Identifier: MIT
// Blocks of a slab whose pages were given back to the system. They cannot be
// in a list, for a list would live in those pages; a bit map holds them.
#pragma once

#include <cstdint>

#include "heap/slab.hpp"

namespace heapwright::heap {

inline constexpr std::uint32_t dropped_map_words = 8192 / 64;

// Gives back the pages that only free blocks touch. The slab must be owned by
// the caller, with nothing watched. Returns the bytes given back.
std::size_t drop_free_pages(UnitLine* slab) noexcept;

// A batch of dropped blocks in one page; slab->dropped is 0 after the last.
Chain carve_dropped(UnitLine* slab) noexcept;

std::uint32_t dropped_count(const UnitLine* slab) noexcept;
void free_dropped_map(UnitLine* slab) noexcept;

void lock_dropped_maps() noexcept;
void unlock_dropped_maps() noexcept;

}  // namespace heapwright::heap
