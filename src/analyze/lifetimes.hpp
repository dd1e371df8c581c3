// SPDX-License-Identifier: MIT
// Lifetimes of blocks: the size x lifetime map. Blocks still live at the end are censored (they lived at
// least until then), so they get a separate column.
#pragma once

#include <array>
#include <cstdint>

#include "analyze/facts/lifetimes.hpp"
#include "analyze/histogram.hpp"
#include "analyze/peak.hpp"

namespace heapwright::analyze {

// Columns: < 100 ns, then half decades up to >= 1000 s.
inline constexpr std::size_t lifetime_columns = 22;

class Lifetimes {
 public:
  Lifetimes();

  // Precondition: lifetime_ns < UINT64_MAX.
  [[gnu::always_inline]] void add(std::uint64_t lifetime_ns, std::uint64_t size_bytes,
                                  std::uint64_t weight) noexcept {
    std::size_t column = column_of_bucket_[bucket_of(lifetime_ns)];
    column += lifetime_ns >= from_ns_[column + 1] ? 1 : 0;
    auto& cell = cells_[size_class_of(size_bytes)][column];
    cell.blocks += weight;
    cell.bytes += size_bytes * weight;
  }
  void add(const Lifetimes& other) noexcept;
  LifetimeMap finish(const LivePeak& live) const;

 private:
  struct Cell {
    std::uint64_t blocks;
    std::uint64_t bytes;
  };
  // A bucket is narrower than a column, so it overlaps at most the column of its lower bound and the next
  // one.
  std::array<std::uint8_t, 512> column_of_bucket_{};
  std::array<std::uint64_t, lifetime_columns + 1> from_ns_{};  // last: no upper bound
  std::array<std::array<Cell, lifetime_columns>, size_class_count> cells_{};
};

}  // namespace heapwright::analyze
