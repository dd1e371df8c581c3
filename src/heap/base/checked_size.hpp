// SPDX-License-Identifier: MIT
// Saturating arithmetic on caller-supplied sizes: an overflow becomes `too_big`,
// which exceeds every limit, so results need no separate check.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heapwright::heap {

inline constexpr std::size_t too_big = SIZE_MAX;

constexpr bool is_too_big(std::size_t bytes) noexcept { return bytes > PTRDIFF_MAX; }

constexpr std::size_t checked_sum(std::size_t a, std::size_t b) noexcept {
  std::size_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? too_big : sum;
}
constexpr std::size_t checked_product(std::size_t a, std::size_t b) noexcept {
  std::size_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? too_big : product;
}
// The next multiple of `unit`.
constexpr std::size_t checked_round_up(std::size_t bytes, std::size_t unit) noexcept {
  const std::size_t rest = bytes % unit;
  return rest == 0 ? bytes : checked_sum(bytes, unit - rest);
}

}  // namespace heapwright::heap
