// SPDX-License-Identifier: MIT
// Runs of adjacent units, and the units set aside for a cache.
#pragma once

#include <cstdint>

#include "heap/pages/region.hpp"

namespace heapwright::heap {

struct Run {
  std::uint32_t unit;  // 0: no memory
  bool is_zeroed;
};

// Clean units in which only one cache opens slabs. Processors prefetch neighbouring or
// equally spaced cache lines within a page, so two threads with adjacent slabs would
// contend for each other's lines. So the lines of a lot fill a page.
struct UnitLot {
  std::uint32_t unit;
  std::uint32_t end;
};
inline constexpr std::uint32_t lot_units = carve_bytes / line_bytes;

}  // namespace heapwright::heap
