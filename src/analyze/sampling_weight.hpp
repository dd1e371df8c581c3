// SPDX-License-Identifier: MIT
// How many calls one sampled call stands for. A block of `size` bytes is sampled with probability p = 1 -
// exp(-size / mean); its weight is 1 / p, a real number. It is stored in units of 1 / 4096, so that sums stay
// integers (as without sampling) and no weight is off by more than 0.013 %. A block of 0 bytes is sampled
// like one of 1.
#pragma once

#include <cstdint>

namespace heapwright::analyze {

class SamplingWeight {
 public:
  static constexpr std::uint64_t units_of_one = 4096;

  // 0: every call was recorded, all weights are 1.
  explicit SamplingWeight(std::uint64_t sample_mean_bytes) : mean_bytes_(sample_mean_bytes) {}

  bool is_sampled() const noexcept { return mean_bytes_ != 0; }
  // The weight of a call that is certain to be recorded.
  std::uint64_t unit() const noexcept { return is_sampled() ? units_of_one : 1; }
  // 1 / p of a sampled block.
  double real(std::uint64_t size_bytes) const noexcept;
  // The same in units.
  std::uint64_t of(std::uint64_t size_bytes) const noexcept;
  // (1 - p) / p^2: what the block adds to the variance of an estimated count.
  double variance_term(std::uint64_t size_bytes) const noexcept;

 private:
  std::uint64_t mean_bytes_;
};

}  // namespace heapwright::analyze
