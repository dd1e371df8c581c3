// SPDX-License-Identifier: MIT
// How many calls one sampled call stands for. A block of `size` bytes is
// sampled with probability 1 - exp(-size / mean); the inverse of that,
// rounded up or down at random so that the mean is kept, is its weight.
// Whole weights keep every sum an integer.
#pragma once

#include <cstdint>

namespace heapwright::analyze {

class SamplingWeight {
 public:
  // 0: every call was recorded, all weights are 1.
  explicit SamplingWeight(std::uint64_t sample_mean_bytes) : mean_bytes_(sample_mean_bytes) {}

  bool is_sampled() const noexcept { return mean_bytes_ != 0; }
  // The same event (thread, sequence) always gets the same weight.
  std::uint64_t of(std::uint64_t size_bytes, std::uint32_t thread, std::uint64_t sequence) const noexcept;

 private:
  std::uint64_t mean_bytes_;
};

}  // namespace heapwright::analyze
