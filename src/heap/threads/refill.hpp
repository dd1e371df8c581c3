// SPDX-License-Identifier: MIT
// Where blocks come from when the current list of a step has none.
#pragma once

#include <cstdint>

#include "heap/threads/thread_cache.hpp"

namespace heapwright::heap {

// A block of the class. Null: no memory. A bounded number of steps: at most 4
// notices, one claim or opening, one carving of a page, the steps of a class.
void* take_block(ThreadCache* cache, std::uint32_t size_class) noexcept;

// A block of 0 bytes that is out of reach. Null: no place for one was found.
void* take_empty(ThreadCache* cache) noexcept;

}  // namespace heapwright::heap
