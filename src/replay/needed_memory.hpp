// SPDX-License-Identifier: MIT
// How much memory a replay's blocks take.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/plan_file.hpp"

namespace heapwright::replay {

// What live blocks have touched, in recorded order, without what an allocator adds: of a block of gigabytes
// only what the program wrote to.
struct NeededMemory {
  std::uint64_t peak_bytes = 0;  // at most at once
  std::vector<std::uint64_t> mark_bytes;
};

// O(operations), with 8 bytes for each slot.
NeededMemory needed_memory(const PlanFile& plan);

}  // namespace heapwright::replay
