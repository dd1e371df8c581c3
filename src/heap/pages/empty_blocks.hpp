// SPDX-License-Identifier: MIT
// Blocks of 0 bytes, each at a distinct inaccessible address.
#pragma once

#include <cstdint>

namespace heapwright::heap {

// Thread-safe. `next` is the caller's next place to try, 0 at first. Null: none of the
// places tried is free, or no memory. The first call maps them.
void* take_empty_block(std::uint32_t* next) noexcept;
bool is_empty_block(const void* pointer) noexcept;
// The number of live ones; reads every place's bit while other threads continue.
std::uint32_t live_empty_blocks() noexcept;
// Both stop the process unless the block is live.
void require_live_empty(const char* function, const void* block) noexcept;
void free_empty_block(void* block) noexcept;

}  // namespace heapwright::heap
