// SPDX-License-Identifier: MIT
// The bucket arithmetic shared by all histograms, inline for the hot loops.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace heapwright::analyze {

// 8 linear steps per power of two: v for v < 8, then
// (exponent - 2) * 8 + the three bits below the leading one.
constexpr std::uint32_t bucket_of(std::uint64_t value) noexcept {
  // Including the leading bit, value >> shift is 8..15, so it contains one step of 8. A small value's shift
  // is 0. XOR with 63 matches a single instruction.
  const auto shift = static_cast<std::uint32_t>(std::countl_zero(value | 8) ^ 63) - 3;
  return shift * 8 + static_cast<std::uint32_t>(value >> shift);
}

inline std::uint64_t lower_bound_of(std::size_t bucket) noexcept {
  if (bucket < 8) {
    return bucket;
  }
  const auto exponent = bucket / 8 + 2;
  return exponent > 63 ? UINT64_MAX : (8 + bucket % 8) << (exponent - 3);
}

// The value that `share` of all values do not exceed: interpolated within its bucket, which is assumed to be
// evenly filled, so accurate to 6.25 %. `all`: the sum of the counts, more than 0.
std::uint64_t percentile(const std::uint64_t* counts, std::size_t bucket_count, std::uint64_t all,
                         double share, std::uint64_t max);

inline constexpr std::size_t buckets_used = 496;      // bucket_of(UINT64_MAX) + 1
inline constexpr std::size_t duration_buckets = 240;  // bucket_of(UINT32_MAX) + 1

// Power-of-two classes: class 0 holds 0, class k holds [2^(k-1), 2^k).
inline constexpr std::size_t size_class_count = 65;

inline std::uint32_t size_class_of(std::uint64_t size_bytes) noexcept {
  return static_cast<std::uint32_t>(std::bit_width(size_bytes));
}

inline std::uint64_t size_class_from(std::size_t size_class) noexcept {
  return size_class == 0 ? 0 : std::uint64_t{1} << (size_class - 1);
}

inline std::uint64_t size_class_to(std::size_t size_class) noexcept {
  return size_class == 0 ? 0 : size_class_from(size_class) * 2 - 1;
}

}  // namespace heapwright::analyze
