// SPDX-License-Identifier: MIT
#include "lab/loads.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace heapwright::lab {

std::uint64_t doubling_size(Random& random, double doubling_probability) noexcept {
  constexpr std::uint64_t max_bytes = std::uint64_t{1} << 20;
  std::uint64_t size = 100;
  while (size * 2 <= max_bytes && random.unit() < doubling_probability) size *= 2;
  return size;
}

std::size_t fragmenting_slot_count(std::uint64_t class_bytes) noexcept {
  std::size_t count = 0;
  for (const std::uint32_t size : fragmenting_sizes) count += std::max<std::uint64_t>(1, class_bytes / size);
  return count;
}

void fill_fragmenting_sizes(std::uint32_t* sizes, std::uint64_t class_bytes, Random& random) noexcept {
  std::size_t filled = 0;
  for (const std::uint32_t size : fragmenting_sizes) {
    const std::size_t wanted = std::max<std::uint64_t>(1, class_bytes / size);
    std::fill_n(sizes + filled, wanted, size);
    filled += wanted;
  }
  shuffle(sizes, filled, random);
}

std::uint64_t mixed_size(Random& random) noexcept {
  // Trailing zeros of a random number: geometric with probability 1/2.
  const auto doublings = static_cast<std::uint64_t>(std::min(std::countr_zero(random.next() | 512), 9));
  const std::uint64_t least = std::uint64_t{16} << doublings;
  return random.between(least, 2 * least);
}

std::uint64_t retained_size(Random& random) noexcept {
  if (random.below(5) > 0) return random.between(16, 255);
  constexpr double doublings = 8;  // 256 bytes to 64 KiB
  return static_cast<std::uint64_t>(256 * std::exp2(doublings * random.unit()));
}

CreepingCount::CreepingCount() noexcept {
  constexpr double mean = 1.5;
  double weights = 0;
  double weighted = 0;
  for (std::uint32_t k = 1; k <= max_count; ++k) {
    weights += 1.0 / (k * k);
    weighted += 1.0 / k;
  }
  const double nonempty = mean * weights / weighted;
  at_most_[0] = 1 - nonempty;
  for (std::uint32_t k = 1; k <= max_count; ++k) {
    at_most_[k] = at_most_[k - 1] + nonempty / weights / (k * k);
  }
  at_most_[max_count] = 1;
}

std::uint32_t CreepingCount::draw(Random& random) const noexcept {
  const auto found = std::upper_bound(at_most_.begin(), at_most_.end() - 1, random.unit());
  return static_cast<std::uint32_t>(found - at_most_.begin());
}

std::uint32_t small_vector_count(Random& random) noexcept {
  const std::uint64_t percent = random.below(100);
  if (percent < 50) return 0;
  return percent < 99 ? 1 : static_cast<std::uint32_t>(random.between(2, 8));
}

}  // namespace heapwright::lab
