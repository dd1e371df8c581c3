// SPDX-License-Identifier: MIT
// The heap calls of a plan on the allocator of this process. Threads: any.
#pragma once

#include <cstdint>

#include "replay/plan.hpp"

namespace heapwright::replay {

// The block that the operation makes; `old` is the one that a realloc moves, otherwise null. Ends the process
// with one line when there is none.
void* make_block(const Operation& operation, void* old) noexcept;
void release_block(const Operation& operation, void* block) noexcept;
// malloc_trim and mallopt.
void tell_allocator(const Operation& operation) noexcept;

// Writes to the pages of the block's first `touched_bytes` that lie behind its first `from_bytes`.
void touch_block(void* block, std::uint64_t from_bytes, std::uint64_t touched_bytes) noexcept;

// What the operation says the program wrote to.
constexpr std::uint64_t touched_bytes(std::uint64_t size, std::uint8_t touch) noexcept {
  return touch == touch_all ? size : size / 254 * touch;
}
constexpr std::uint64_t touched_bytes(const Operation& operation) noexcept {
  return touched_bytes(operation.size, static_cast<std::uint8_t>(operation.touch));
}

}  // namespace heapwright::replay
