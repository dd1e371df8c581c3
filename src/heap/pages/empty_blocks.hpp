// SPDX-License-Identifier: MIT
// Blocks of 0 bytes, each at a place of its own that can be neither read nor written.
#pragma once

#include <cstdint>

namespace heapwright::heap {

// For any thread; `next`, 0 at first, is the caller's own: where it looks next. Null: none
// of the places looked at is free, or no memory. The first call maps them.
void* take_empty_block(std::uint32_t* next) noexcept;
bool is_empty_block(const void* pointer) noexcept;
// How many are live; looks at every place's bit. Other threads go on meanwhile.
std::uint32_t live_empty_blocks() noexcept;
// Both stop the process if the block is not live.
void require_live_empty(const char* function, const void* block) noexcept;
void free_empty_block(void* block) noexcept;

}  // namespace heapwright::heap
