// SPDX-License-Identifier: MIT
#include "analyze/site_histograms.hpp"

#include <algorithm>

namespace heapwright::analyze {

bool SiteHistograms::take_span(std::uint32_t length, std::uint32_t& offset) {
  auto& spare = free_[length / 8];
  if (!spare.empty()) {
    offset = spare.back();
    spare.pop_back();
    std::fill_n(pool_.begin() + offset, length, 0U);
    return true;
  }
  if (pool_.size() + length > most_counts_) {
    return false;
  }
  offset = static_cast<std::uint32_t>(pool_.size());
  pool_.resize(pool_.size() + length);
  return true;
}

void SiteHistograms::add_outside(std::uint32_t site, std::uint32_t bucket, std::uint64_t weight) {
  auto& span = spans_[site];
  const auto octave_from = bucket & ~7U;
  const auto from = span.length == 0 ? octave_from : std::min<std::uint32_t>(span.base, octave_from);
  const auto to = std::max<std::uint32_t>(span.length == 0 ? 0 : span.base + span.length, octave_from + 8);
  std::uint32_t offset = 0;
  if (!take_span(to - from, offset)) {
    left_out_ += weight;
    return;
  }
  if (span.length != 0) {
    std::copy_n(pool_.begin() + span.offset, span.length, pool_.begin() + offset + (span.base - from));
    free_[span.length / 8].push_back(span.offset);
  }
  span = {offset, static_cast<std::uint16_t>(from), static_cast<std::uint16_t>(to - from)};
  add(site, bucket, weight);
}

void SiteHistograms::carry(std::uint32_t site, std::uint32_t bucket, std::uint64_t high) {
  carried_[std::uint64_t{site} << 9 | bucket] += high;
}

void SiteHistograms::add_to(std::uint32_t site, std::vector<std::uint64_t>& counts) const {
  const auto& span = spans_[site];
  counts.resize(std::max<std::size_t>(counts.size(), std::size_t{span.base} + span.length));
  for (std::uint32_t index = 0; index < span.length; ++index) {
    const auto bucket = span.base + index;
    counts[bucket] += pool_[span.offset + index];
    if (!carried_.empty()) {
      const auto found = carried_.find(std::uint64_t{site} << 9 | bucket);
      counts[bucket] += found == carried_.end() ? 0 : found->second << 32;
    }
  }
}

}  // namespace heapwright::analyze
