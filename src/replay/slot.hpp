// SPDX-License-Identifier: MIT
// Where a block of the replay is kept while it lives.
#pragma once

#include <atomic>
#include <cstdint>

namespace heapwright::replay {

struct Slot {
  void* block = nullptr;
  std::uint32_t touched_pages = 0;  // of 4 KiB, from the block's begin
  std::atomic<std::uint32_t> generation = 0;
};
static_assert(sizeof(Slot) == 16);

// For what a plan says that none can: ends the process.
[[noreturn]] void refuse_damaged() noexcept;

}  // namespace heapwright::replay
