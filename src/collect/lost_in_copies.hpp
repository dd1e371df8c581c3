// SPDX-License-Identifier: MIT
// What is lost in every copy of a process that runs while it is copied. A pointer that moves may be in none
// of the places when they are read. A lost block stays lost: so it is in no copy, and one that is seen once
// is not lost.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/heap_graph.hpp"

namespace heapwright::collect {

class LostInCopies {
 public:
  // The snapshot of one more copy. Blocks that are lost in it, and were not before, become held by what
  // moves.
  void add(trace::HeapGraph& snapshot);
  // One of the last two had some that all before it lack, and another one may tell of more.
  bool needs_another() const noexcept;

 private:
  std::vector<std::uint64_t> lost_;  // addresses, ascending
  std::uint64_t copies_ = 0;
  std::uint64_t quiet_ = 0;          // the last ones had nothing new
  std::uint64_t missed_before_ = 0;  // in the last one
  std::uint64_t missed_ = 0;         // in the last two
};

}  // namespace heapwright::collect
