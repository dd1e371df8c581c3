// SPDX-License-Identifier: MIT
#include "analyze/histogram.hpp"

#include <algorithm>
#include <cmath>

namespace heapwright::analyze {

std::uint64_t percentile(const std::uint64_t* counts, std::size_t bucket_count, std::uint64_t all,
                         double share, std::uint64_t max) {
  const auto exact = std::ceil(share * static_cast<double>(all));
  const auto rank = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(exact), 1, all);
  std::uint64_t before = 0;
  for (std::size_t bucket = 0; bucket < bucket_count; ++bucket) {
    if (before + counts[bucket] < rank) {
      before += counts[bucket];
      continue;
    }
    const auto from = lower_bound_of(bucket);
    const auto width = static_cast<double>(lower_bound_of(bucket + 1) - from - 1);
    const auto place = (static_cast<double>(rank - before) - 0.5) / static_cast<double>(counts[bucket]);
    return std::min(from + static_cast<std::uint64_t>(std::llround(width * place)), max);
  }
  return max;
}

}  // namespace heapwright::analyze
