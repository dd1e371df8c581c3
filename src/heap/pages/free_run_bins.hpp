// SPDX-License-Identifier: MIT
// The page source's free runs: bins by length, and the few most recently freed runs.
// Used under its lock.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "heap/base/counting.hpp"
#include "heap/pages/region.hpp"

namespace heapwright::heap {

inline constexpr std::uint32_t bin_count = 256;
inline constexpr std::uint32_t exact_bins = 64;

// One bin per length below 64, eight bins per doubling above.
constexpr std::uint32_t bin_of(std::uint32_t units) noexcept {
  if (units < exact_bins) return units;
  const auto doubling = static_cast<std::uint32_t>(std::bit_width(units) - 1);
  return exact_bins + (doubling - 6) * 8 + (units >> (doubling - 3) & 7);
}
// The first bin with only runs that are long enough.
constexpr std::uint32_t fitting_bin_of(std::uint32_t units) noexcept {
  if (units < exact_bins) return units;
  const auto doubling = static_cast<std::uint32_t>(std::bit_width(units) - 1);
  return bin_of(units + (std::uint32_t{1} << (doubling - 3)) - 1);
}
struct Bins {
  std::uint64_t filled[bin_count / 64];
  std::uint32_t first[bin_count];

  void insert(std::uint32_t unit) noexcept {
    UnitLine* line = line_of(unit);
    const std::uint32_t bin = bin_of(line->units);
    line->prev = 0;
    line->next = first[bin];
    if (first[bin] != 0) line_of(first[bin])->prev = unit;
    first[bin] = unit;
    filled[bin / 64] |= std::uint64_t{1} << bin % 64;
  }
  void remove(std::uint32_t unit) noexcept {
    UnitLine* line = line_of(unit);
    const std::uint32_t bin = bin_of(line->units);
    if (line->next != 0) line_of(line->next)->prev = line->prev;
    if (line->prev != 0) {
      line_of(line->prev)->next = line->next;
    } else {
      first[bin] = line->next;
      if (line->next == 0) filled[bin / 64] &= ~(std::uint64_t{1} << bin % 64);
    }
  }
  // A run of `units` or more, 0: none.
  std::uint32_t find(std::uint32_t units) const noexcept {
    const std::uint32_t bin = fitting_bin_of(units);
    if (bin >= bin_count) return 0;
    std::uint64_t word = filled[bin / 64] & ~std::uint64_t{0} << bin % 64;
    for (std::uint32_t i = bin / 64;; word = filled[i]) {
      count_steps();
      if (word != 0) return first[i * 64 + static_cast<std::uint32_t>(std::countr_zero(word))];
      if (++i == bin_count / 64) return 0;
    }
  }
  // One of the longest runs, 0: none.
  std::uint32_t find_longest() const noexcept {
    for (std::uint32_t i = bin_count / 64; i-- > 0;) {
      count_steps();
      if (filled[i] != 0) return first[i * 64 + static_cast<std::uint32_t>(std::bit_width(filled[i]) - 1)];
    }
    return 0;
  }
};

// Recently freed dirty runs, not yet joined with their neighbours: a free followed by
// an allocation of the same length gets the same pages, and longer runs stay whole.
// Their lines are UnitKind::inside, except `units` and `stamp` of the first.
struct RecentRuns {
  static constexpr std::uint32_t capacity = 8;
  std::uint32_t first_units[capacity];  // newest last
  std::uint32_t count;

  void add(std::uint32_t unit) noexcept { first_units[count++] = unit; }
  // The newest run of exactly this length, 0: none.
  std::uint32_t take(std::uint32_t units) noexcept {
    for (std::uint32_t i = count; i-- > 0;) {
      count_steps();
      if (line_of(first_units[i])->units == units) return take_at(i);
    }
    return 0;
  }
  std::uint32_t take_at(std::uint32_t i) noexcept {
    const std::uint32_t unit = first_units[i];
    std::copy(first_units + i + 1, first_units + count--, first_units + i);
    return unit;
  }
};

}  // namespace heapwright::heap
