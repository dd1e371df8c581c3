// SPDX-License-Identifier: MIT
// Freeing a block of a slab that belongs to another thread, or to nobody.
#pragma once

#include "heap/pages/region.hpp"

namespace heapwright::heap {

// One compare-and-swap on the slab's line, without waiting for anyone; the
// free that completes the count the owner asked for also tells the owner.
void free_remote(UnitLine* slab, void* block) noexcept;

}  // namespace heapwright::heap
