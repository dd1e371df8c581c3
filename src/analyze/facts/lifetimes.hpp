// SPDX-License-Identifier: MIT
// How long blocks lived.
#pragma once

#include <cstdint>
#include <vector>

namespace heapwright::analyze {

// size x lifetime map. Rows: power-of-two size classes. Columns: decades of
// lifetime from <100 ns to >=1000 s in half-decade steps; last column: still
// live at the end (censored).
struct LifetimeMap {
  std::vector<std::uint64_t> size_from_bytes;   // per row
  std::vector<std::uint64_t> lifetime_from_ns;  // per column but the last
  std::vector<std::uint64_t> blocks;            // row-major
  std::vector<std::uint64_t> bytes;             // row-major
};

}  // namespace heapwright::analyze
