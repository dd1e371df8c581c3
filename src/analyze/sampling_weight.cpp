// SPDX-License-Identifier: MIT
#include "analyze/sampling_weight.hpp"

#include <algorithm>
#include <cmath>

namespace heapwright::analyze {

double SamplingWeight::real(std::uint64_t size_bytes) const noexcept {
  const auto size = static_cast<double>(std::max<std::uint64_t>(size_bytes, 1));
  return std::min(-1.0 / std::expm1(-size / static_cast<double>(mean_bytes_)), 4294967295.0);
}

std::uint64_t SamplingWeight::of(std::uint64_t size_bytes) const noexcept {
  if (mean_bytes_ == 0) {
    return 1;
  }
  return static_cast<std::uint64_t>(std::llround(real(size_bytes) * static_cast<double>(units_of_one)));
}

double SamplingWeight::variance_term(std::uint64_t size_bytes) const noexcept {
  if (mean_bytes_ == 0) {
    return 0;
  }
  // (1 - p) / p^2 with w = 1 / p is w (w - 1); for large blocks w - 1 is exp(-s / mean) w without loss.
  const auto size = static_cast<double>(std::max<std::uint64_t>(size_bytes, 1));
  const auto weight = real(size_bytes);
  return weight * weight * std::exp(-size / static_cast<double>(mean_bytes_));
}

}  // namespace heapwright::analyze
