// SPDX-License-Identifier: MIT
// The longest calls of all, in a heap with the shortest of them at the top.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/facts/calls.hpp"

namespace heapwright::analyze {

class Slowest {
 public:
  explicit Slowest(std::uint32_t limit) : limit_(limit), floor_ns_(limit == 0 ? UINT64_MAX : 1) {}

  // Cheap test before a SlowCall is constructed.
  bool is_candidate(std::uint32_t duration_ns) const noexcept { return duration_ns >= floor_ns_; }
  void add(const SlowCall& call);
  void add(const Slowest& other);
  void clear();
  std::vector<SlowCall> finish() const;

 private:
  std::size_t limit_;
  std::uint64_t floor_ns_;  // shorter calls cannot enter; 1 until full
  std::vector<SlowCall> calls_;
};

}  // namespace heapwright::analyze
