// SPDX-License-Identifier: MIT
// Free units of which a slab used only the beginning; the rest was never touched. A thread's first slabs use
// them again, so threads that come and go do not make whole units resident for a few blocks each.
#pragma once

#include <cstdint>

#include "heap/pages/run.hpp"

namespace heapwright::heap {

inline constexpr std::uint32_t most_short_bytes = unit_bytes / 2;

// Everything is under the lock of the page source. The units' lines are UnitKind::inside, except `units`, the
// bytes that were used, and `stamp`. Linked by `next`, towards older ones, and `second_next`.
struct ShortUnits {
  std::uint32_t newest;
  std::uint32_t oldest;
  std::uint32_t count;
  std::uint64_t bytes;               // that were used
  std::uint8_t longer[class_count];  // by size class a balance: slabs that used more, less those that did not
};

extern ShortUnits short_units;

// Notes how much a closed slab of that class had used of its unit, which was clean before if is_zeroed.
// False: it is no short unit.
bool add_short(Run run, std::uint32_t used_bytes, std::uint32_t size_class) noexcept;
struct ShortUnit {
  std::uint32_t unit;  // 0: there is none
  std::uint32_t used_bytes;
};
// The newest.
ShortUnit take_short() noexcept;
// Makes up to `most` of the oldest that have waited for `least_age` ticks dirty free runs. False: there were
// none.
bool join_short(std::uint16_t now, std::uint16_t least_age, std::uint32_t most) noexcept;
// Whether a first slab of the class is likely to leave a short unit.
bool stays_short(std::uint32_t size_class) noexcept;
// Whether the list, its count and its sum agree. For tests; linear in their number.
bool short_units_are_valid() noexcept;

}  // namespace heapwright::heap
