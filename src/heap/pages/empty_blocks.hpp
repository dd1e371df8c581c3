// SPDX-License-Identifier: MIT
// Hardened mode: blocks of 0 bytes, each at a place of its own that can be neither
// read nor written.
#pragma once

namespace heapwright::heap {

// For any thread. Null: all places are taken, or no memory.
void* take_empty_block() noexcept;
bool is_empty_block(const void* pointer) noexcept;
// Stops the process if it is not live.
void free_empty_block(void* block) noexcept;

}  // namespace heapwright::heap
