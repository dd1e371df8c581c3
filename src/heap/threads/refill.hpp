// SPDX-License-Identifier: MIT
// The sources of blocks when the current list of a step is empty.
#pragma once

#include <cstdint>

#include "heap/threads/thread_cache.hpp"

namespace heapwright::heap {

// A block of the class. Null: no memory. Bounded: at most 4 notices, one claim or opening
// of a slab, one carving of a page, and setting the steps of a class.
void* take_block(ThreadCache* cache, std::uint32_t size_class) noexcept;

// An inaccessible block of 0 bytes. Null: no free place was found.
void* take_empty(ThreadCache* cache) noexcept;

}  // namespace heapwright::heap
