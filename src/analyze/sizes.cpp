// SPDX-License-Identifier: MIT
#include "analyze/sizes.hpp"

#include <algorithm>

namespace heapwright::analyze {
namespace {

constexpr std::size_t common_size_count = 32;

void keep_most_common(std::vector<std::pair<std::uint64_t, std::uint64_t>>& sizes) {
  const auto kept = std::min(common_size_count, sizes.size());
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(kept);
  std::partial_sort(sizes.begin(), middle, sizes.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  sizes.resize(kept);
}

}  // namespace

void Sizes::add_large(std::uint64_t size_bytes, std::uint64_t weight) {
  large_counts_[bucket_of(size_bytes)] += weight;
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
  for (std::size_t bucket = 0; bucket < large_counts_.size(); ++bucket) {
    large_counts_[bucket] += other.large_counts_[bucket];
  }
  for (std::size_t index = 0; index < size_class_count; ++index) {
    large_bytes_[index] += other.large_bytes_[index];
  }
}

void Sizes::finish(Facts& facts) const {
  auto& counts = facts.sizes.counts;
  counts.assign(large_counts_.begin(), large_counts_.end());
  for (std::size_t index = 0; index < size_class_count; ++index) {
    facts.by_size[index].bytes += large_bytes_[index];
  }
  // Exact sizes end at a power of two, so a bucket of large_counts_ never
  // straddles a class.
  for (std::size_t bucket = 0; bucket < large_counts_.size(); ++bucket) {
    facts.by_size[size_class_of(lower_bound_of(bucket))].allocations += large_counts_[bucket];
  }
  facts.common_sizes.assign(large_.begin(), large_.end());
  for (std::size_t size = 0; size < exact_.size(); ++size) {
    if (exact_[size] == 0) {
      continue;
    }
    counts[bucket_of(size)] += exact_[size];
    facts.by_size[size_class_of(size)].allocations += exact_[size];
    facts.by_size[size_class_of(size)].bytes += exact_[size] * size;
    facts.common_sizes.emplace_back(size, exact_[size]);
  }
  facts.totals.zero_size = exact_[0];
  keep_most_common(facts.common_sizes);
  while (!counts.empty() && counts.back() == 0) {
    counts.pop_back();
  }
}

}  // namespace heapwright::analyze
