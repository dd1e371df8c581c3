// SPDX-License-Identifier: MIT
// A slab's blocks as malloc hands them out, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "heap/slabs/slab.hpp"

namespace heapwright::heap {

// All that can be carved.
inline std::vector<char*> carve_all(UnitLine* slab) {
  std::vector<char*> blocks;
  while (can_carve(slab)) {
    const Chain chain = carve(slab);
    Block* block = chain.first;
    for (std::uint32_t i = 0; i < chain.count; ++i) {
      blocks.push_back(reinterpret_cast<char*>(block));
      Block* const next = i + 1 < chain.count ? block->next() : nullptr;
      block->end_list();
      block = next;
    }
    EXPECT_TRUE(slab_is_valid(slab));
  }
  return blocks;
}

}  // namespace heapwright::heap
