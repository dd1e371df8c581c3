// SPDX-License-Identifier: MIT
// The requested sizes. Small sizes are counted individually; the size classes are derived from that at the
// end of the trace.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

#include "analyze/histogram.hpp"
#include "analyze/zeroed_array.hpp"

namespace heapwright::analyze {

struct Facts;

class Sizes {
 public:
  Sizes() : exact_(exact_limit_bytes) {}

  [[gnu::always_inline]] void add(std::uint64_t size_bytes, std::uint64_t weight) {
    if (size_bytes < exact_limit_bytes) {
      exact_[size_bytes] += weight;
    } else {
      add_large(size_bytes, weight);
    }
  }
  void add(const Sizes& other);
  // Fills common_sizes and the counts and bytes of by_size, which
  // must have size_class_count rows.
  void finish(Facts& facts) const;

 private:
  static constexpr std::uint64_t exact_limit_bytes = 65536;
  // Distinct large sizes counted individually for common_sizes; beyond this, only the classes count.
  static constexpr std::size_t large_limit = std::size_t{1} << 20;

  void add_large(std::uint64_t size_bytes, std::uint64_t weight);

  ZeroedArray<std::uint64_t> exact_;
  std::unordered_map<std::uint64_t, std::uint64_t> large_;
  std::array<std::uint64_t, size_class_count> large_counts_{};
  std::array<std::uint64_t, size_class_count> large_bytes_{};
};

}  // namespace heapwright::analyze
