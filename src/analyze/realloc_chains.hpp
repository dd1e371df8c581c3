// SPDX-License-Identifier: MIT
// Buffers that grow by realloc: how often, and how much was copied.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyze/facts/realloc_chains.hpp"

namespace heapwright::analyze {

// A block's state, carried from realloc to realloc.
struct Chain {
  std::uint64_t steps = 0;
  std::uint64_t moved = 0;
  std::uint64_t copied_bytes = 0;
  std::uint64_t steps_ns = 0;

  // is_mapped: the old block has its own mapping, which the kernel moves (mremap): nothing is copied.
  void add_step(std::uint64_t old_address, std::uint64_t new_address, std::uint64_t old_bytes,
                std::uint64_t new_bytes, std::uint32_t duration_ns, bool is_mapped = false) noexcept {
    ++steps;
    steps_ns += duration_ns;
    if (old_address != new_address) {
      ++moved;
      if (!is_mapped) copied_bytes += old_bytes < new_bytes ? old_bytes : new_bytes;
    }
  }
};

class ChainSums {
 public:
  void add(std::uint32_t site, const Chain& chain, std::uint64_t final_bytes, std::uint64_t weight);
  void begin_window() { sites_.clear(); }
  std::vector<ReallocChains> finish() const;  // most copied bytes first

 private:
  std::unordered_map<std::uint32_t, ReallocChains> sites_;
};

}  // namespace heapwright::analyze
