// SPDX-License-Identifier: MIT
// Makes the heap calls of a plan on the allocator of this process. Threads: any.
#pragma once

#include <cstdint>

#include "replay/plan.hpp"

namespace heapwright::replay {

// The block that the operation allocates; `old` is the one that a realloc moves, otherwise null. Ends the
// process with a message on failure.
void* make_block(const Operation& operation, void* old) noexcept;
void release_block(const Operation& operation, void* block) noexcept;
// malloc_trim and mallopt.
void tune_allocator(const Operation& operation) noexcept;

// Writes to those pages of the block's first `touched_bytes` that are after its first `from_bytes`.
void touch_block(void* block, std::uint64_t from_bytes, std::uint64_t touched_bytes) noexcept;

// Encoding of how much the program wrote to: even steps from touch_even on; below it, steps of a quarter of a
// power of two, because a program may write to only two pages of a block of gigabytes. Increases with touch.
inline constexpr std::uint8_t touch_even = 64;
constexpr std::uint64_t touched_bytes(std::uint64_t size, std::uint8_t touch) noexcept {
  constexpr std::uint64_t steps = touch_all - 1 - touch_even + 6;
  constexpr std::uint64_t quarters[] = {1024, 861, 724, 609};  // powers of two, of 1024
  if (touch == touch_all || touch == 0) return touch == 0 ? 0 : size;
  if (touch >= touch_even) return size * (touch - touch_even + 6U) / steps;
  const unsigned below = touch_even - touch;
  return size * 6 * quarters[below % 4] / (steps * 1024) >> below / 4;
}
constexpr std::uint64_t touched_bytes(const Operation& operation) noexcept {
  return touched_bytes(operation.size, static_cast<std::uint8_t>(operation.touch));
}

}  // namespace heapwright::replay
