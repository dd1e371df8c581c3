// SPDX-License-Identifier: MIT
// Multiplicative hashing for tables of a power-of-two size. The constants are
// part of the trace format: predictors of docs/trace-format.md index by them.
#pragma once

#include <cstdint>

namespace heapwright::base {

inline constexpr std::uint64_t golden_ratio_64 = 0x9e3779b97f4a7c15ULL;

// A number below 2^bits; 1 <= bits <= 32.
constexpr std::uint32_t hash_to_bits(std::uint64_t value, unsigned bits) noexcept {
  return static_cast<std::uint32_t>((value * golden_ratio_64) >> (64U - bits));
}

// A number below `limit`, which need not be a power of two; limit <= 2^16.
constexpr std::uint32_t hash_to_limit(std::uint64_t value, std::uint32_t limit) noexcept {
  const std::uint64_t high = (value * golden_ratio_64) >> 32U;
  return static_cast<std::uint32_t>((high * limit) >> 32U);
}

}  // namespace heapwright::base
