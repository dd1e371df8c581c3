// SPDX-License-Identifier: MIT
// Facts by thread.
#pragma once

#include <cstdint>

namespace heapwright::analyze {

// Facts of one thread.
struct ByThread {
  std::uint64_t allocations = 0;
  std::uint64_t releases = 0;
  std::uint64_t bytes = 0;
  std::uint64_t allocator_ns = 0;
  std::uint64_t temporaries = 0;
  std::uint64_t peak_live_bytes = 0;  // of blocks this thread allocated
};

// Non-zero cells, including allocating == freeing thread. Beyond a million different pairs the rest is summed
// in the cell of other_threads.
struct CrossThread {
  static constexpr std::uint32_t other_threads = UINT32_MAX;
  std::uint32_t allocating_thread = 0;
  std::uint32_t freeing_thread = 0;
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
};

}  // namespace heapwright::analyze
