// SPDX-License-Identifier: MIT
#include "analyze/sampling_weight.hpp"

#include <algorithm>
#include <cmath>

namespace heapwright::analyze {
namespace {

// splitmix64's finalizer: every input bit reaches every output bit.
std::uint64_t scramble(std::uint64_t value) noexcept {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

}  // namespace

std::uint64_t SamplingWeight::of(std::uint64_t size_bytes, std::uint32_t thread,
                                 std::uint64_t sequence) const noexcept {
  if (mean_bytes_ == 0) {
    return 1;
  }
  const auto size = static_cast<double>(std::max<std::uint64_t>(size_bytes, 1));
  const auto exact = std::min(-1.0 / std::expm1(-size / static_cast<double>(mean_bytes_)), 4294967295.0);
  const auto whole = std::floor(exact);
  const auto dice =
      static_cast<double>(scramble(sequence * 0x9e3779b97f4a7c15ULL + thread) >> 11) * 0x1.0p-53;
  return static_cast<std::uint64_t>(whole) + (dice < exact - whole ? 1 : 0);
}

}  // namespace heapwright::analyze
