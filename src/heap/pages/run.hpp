// SPDX-License-Identifier: MIT
// Units that follow each other, and those that a cache has set aside.
#pragma once

#include <cstdint>

#include "heap/pages/region.hpp"

namespace heapwright::heap {

struct Run {
  std::uint32_t unit;  // 0: no memory
  bool is_zeroed;
};

// Clean units that one cache alone opens slabs in. Processors fetch lines that
// nobody asked for, beside others or at the distance of the last two, within a
// page: two threads whose slabs lie side by side would take each other's lines
// away, though neither touches them. So the lines of a lot fill a page.
struct UnitLot {
  std::uint32_t unit;
  std::uint32_t end;
};
inline constexpr std::uint32_t lot_units = carve_bytes / line_bytes;

}  // namespace heapwright::heap
