// SPDX-License-Identifier: MIT
// How much memory a replay's blocks take.
#pragma once

#include <cstdint>

#include "replay/plan_file.hpp"

namespace heapwright::replay {

// The most that live blocks have touched at once, in recorded order, without what an allocator adds: of a
// block of gigabytes only what the program wrote to. O(operations), with 8 bytes for each slot.
std::uint64_t peak_touched_bytes(const PlanFile& plan);

}  // namespace heapwright::replay
