// SPDX-License-Identifier: MIT
// The random generator of every load: the same seed gives the same load on every allocator, machine and
// standard library (unlike std's distributions).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace heapwright::lab {

// SplitMix64: one multiply-xor chain per number, full period of 2^64.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept
      : state_(seed * 0x9E3779B97F4A7C15ULL + 0x632BE59BD9B4E019ULL) {}

  std::uint64_t next() noexcept {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBULL;
    return mixed ^ (mixed >> 31);
  }

  // Uniform in [0, bound); bound > 0. The bias is below bound / 2^64.
  std::uint64_t below(std::uint64_t bound) noexcept {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }

  // Uniform in [first, last], both ends included.
  std::uint64_t between(std::uint64_t first, std::uint64_t last) noexcept {
    return first + below(last - first + 1);
  }

  // Uniform in [0, 1).
  double unit() noexcept { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

// Fisher-Yates.
template <typename Array>
void shuffle(Array& values, std::size_t count, Random& random) noexcept {
  for (std::size_t left = count; left > 1; --left) {
    std::swap(values[left - 1], values[random.below(left)]);
  }
}

}  // namespace heapwright::lab
