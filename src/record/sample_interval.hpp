// SPDX-License-Identifier: MIT
// Poisson sampling by bytes: decides which allocations of a thread are sampled. A block of `size` bytes is
// sampled with probability 1 - exp(-size / mean), so that 1 / probability is an unbiased weight.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heapwright::record {

// A thread's distance to its next sample. Before the first sample all fields but the seed are 0.
struct SampleInterval {
  std::int64_t bytes_left;  // 0: not drawn yet
  std::uint64_t random_state;
  std::uint64_t weight_bytes;  // of the last sampled allocation
};

inline std::uint64_t next_random(std::uint64_t& state) noexcept {  // splitmix64 (Steele, Lea, Flood 2014)
  std::uint64_t z = state += 0x9e3779b97f4a7c15ULL;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
  return z ^ z >> 31;
}

// Natural logarithm of x > 0 without libm: exponent * ln 2 + 2 atanh((m-1)/(m+1)),
// m in [1/sqrt 2, sqrt 2); six terms leave an error below 1e-9.
inline double logarithm(double x) noexcept {
  int exponent = 0;
  std::uint64_t bits = __builtin_bit_cast(std::uint64_t, x);
  exponent = static_cast<int>(bits >> 52) - 1023;
  bits = (bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL;
  double mantissa = __builtin_bit_cast(double, bits);
  if (mantissa > 1.4142135623730951) {
    mantissa *= 0.5;
    ++exponent;
  }
  const double t = (mantissa - 1.0) / (mantissa + 1.0);
  const double square = t * t;
  double sum = 0.0;
  for (int term = 13; term >= 1; term -= 2) sum = sum * square + 1.0 / term;
  return exponent * 0.6931471805599453 + 2.0 * t * sum;
}

inline std::int64_t draw_interval(std::uint64_t& state, std::uint64_t mean_bytes) noexcept {
  const double uniform = (static_cast<double>(next_random(state) >> 11) + 1.0) * 0x1.0p-53;  // (0, 1]
  return static_cast<std::int64_t>(-logarithm(uniform) * static_cast<double>(mean_bytes)) + 1;
}

// False if the interval is over or was not drawn yet: then nothing has changed.
[[gnu::always_inline]] inline bool count_down(SampleInterval& interval, std::size_t size) noexcept {
  const std::uint64_t bytes = size + (size == 0 ? 1 : 0);
  const auto left = static_cast<std::uint64_t>(interval.bytes_left);
  if (bytes >= left) [[unlikely]] {
    return false;
  }
  interval.bytes_left = static_cast<std::int64_t>(left - bytes);
  return true;
}

// The part of take_sample() after count_down() failed.
[[gnu::noinline]] inline bool end_interval(SampleInterval& interval, std::size_t size,
                                           std::uint64_t mean_bytes) noexcept {
  if (interval.bytes_left == 0) {
    interval.bytes_left = draw_interval(interval.random_state, mean_bytes);
    if (count_down(interval, size)) return false;
  }
  // `mean` bytes for the end that was reached, and one byte for each byte of the block after it: each of
  // these is another end, worth `mean` bytes, with probability 1 / mean. So the weights of all blocks are
  // expected to add up to their sizes.
  const std::uint64_t behind_end =
      size + (size == 0 ? 1 : 0) - static_cast<std::uint64_t>(interval.bytes_left);
  interval.weight_bytes = mean_bytes + behind_end;
  // Memoryless: a fresh draw after each sample keeps the distribution.
  interval.bytes_left = draw_interval(interval.random_state, mean_bytes);
  return true;
}

// Whether to record this allocation. Usually just a subtraction.
[[gnu::always_inline]] inline bool take_sample(SampleInterval& interval, std::size_t size,
                                               std::uint64_t mean_bytes) noexcept {
  return !count_down(interval, size) && end_interval(interval, size, mean_bytes);
}

}  // namespace heapwright::record
