// SPDX-License-Identifier: MIT
// A live block of the replay.
#pragma once

#include <atomic>
#include <cstdint>

namespace heapwright::replay {

struct Slot {
  void* block = nullptr;
  std::uint32_t touched_pages = 0;  // of 4 KiB, from the start of the block
  std::atomic<std::uint32_t> generation = 0;
};
static_assert(sizeof(Slot) == 16);

// For an invalid plan: ends the process.
[[noreturn]] void refuse_damaged() noexcept;

}  // namespace heapwright::replay
