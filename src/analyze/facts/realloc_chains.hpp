// SPDX-License-Identifier: MIT
// Buffers resized by realloc.
#pragma once

#include <cstdint>

namespace heapwright::analyze {

// A buffer that grew (or shrank) by realloc, from its first allocation to
// its release; summed by the site of its last realloc.
struct ReallocChains {
  std::uint32_t site = 0;
  std::uint64_t chains = 0;
  std::uint64_t steps = 0;         // realloc calls
  std::uint64_t moved = 0;         // steps whose address changed
  std::uint64_t copied_bytes = 0;  // min(old, new) of moved steps
  std::uint64_t steps_ns = 0;      // of these calls
  std::uint64_t longest_steps = 0;
  std::uint64_t final_bytes = 0;  // sum of last sizes
};

}  // namespace heapwright::analyze
