// SPDX-License-Identifier: MIT
#include "analyze/sizes.hpp"

#include <algorithm>

#include "analyze/facts.hpp"
#include "analyze/facts/calls.hpp"

namespace heapwright::analyze {
namespace {

constexpr std::size_t common_size_count = 32;

void keep_most_common(std::vector<CommonSize>& sizes) {
  const auto kept = std::min(common_size_count, sizes.size());
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(kept);
  std::partial_sort(sizes.begin(), middle, sizes.end(), [](const auto& a, const auto& b) {
    return a.allocations != b.allocations ? a.allocations > b.allocations : a.size_bytes < b.size_bytes;
  });
  sizes.resize(kept);
}

}  // namespace

void Sizes::add_large(std::uint64_t size_bytes, std::uint64_t weight) {
  large_counts_[size_class_of(size_bytes)] += weight;
  large_bytes_[size_class_of(size_bytes)] += size_bytes * weight;
  const auto found = large_.find(size_bytes);
  if (found != large_.end()) {
    found->second += weight;
  } else if (large_.size() < large_limit) {
    large_.emplace(size_bytes, weight);
  }
}

void Sizes::add(const Sizes& other) {
  for (std::size_t size = 0; size < exact_.size(); ++size) {
    exact_[size] += other.exact_[size];
  }
  for (const auto& [size, count] : other.large_) {
    large_[size] += count;
  }
  for (std::size_t index = 0; index < size_class_count; ++index) {
    large_counts_[index] += other.large_counts_[index];
    large_bytes_[index] += other.large_bytes_[index];
  }
}

void Sizes::finish(Facts& facts) const {
  for (std::size_t index = 0; index < size_class_count; ++index) {
    facts.by_size[index].allocations += large_counts_[index];
    facts.by_size[index].bytes += large_bytes_[index];
  }
  for (const auto& [size, count] : large_) {
    facts.common_sizes.push_back({size, count});
  }
  for (std::size_t size = 0; size < exact_.size(); ++size) {
    if (exact_[size] == 0) {
      continue;
    }
    facts.by_size[size_class_of(size)].allocations += exact_[size];
    facts.by_size[size_class_of(size)].bytes += exact_[size] * size;
    facts.common_sizes.push_back({size, exact_[size]});
  }
  facts.totals.zero_size = exact_[0];
  keep_most_common(facts.common_sizes);
}

}  // namespace heapwright::analyze
