// SPDX-License-Identifier: MIT
// The memory that a replay's blocks need.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/plan_file.hpp"

namespace heapwright::replay {

// The touched bytes of live blocks, in recorded order, without allocator overhead: of a huge block only what
// the program wrote to.
struct NeededMemory {
  std::uint64_t peak_bytes = 0;  // at most at once
  std::vector<std::uint64_t> mark_bytes;
};

// O(operations), with 8 bytes for each slot.
NeededMemory needed_memory(const PlanFile& plan);

}  // namespace heapwright::replay
