// SPDX-License-Identifier: MIT
#include "analyze/sites.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "analyze/facts.hpp"
#include "analyze/facts/sites.hpp"
#include "analyze/latency.hpp"
#include "analyze/options.hpp"

namespace heapwright::analyze {
namespace {

SiteSizes sizes_of(const std::vector<std::uint64_t>& counts, const StackCalls& sums) {
  const auto all = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  const auto min_bytes = sums.allocations != 0 ? ~sums.min_bytes_inverted : 0;
  if (all == 0) {
    return {.min_bytes = min_bytes, .max_bytes = sums.max_bytes};
  }
  const auto at = [&](double share) {
    return std::max(percentile(counts.data(), counts.size(), all, share, sums.max_bytes), min_bytes);
  };
  return {min_bytes, at(0.5), at(0.9), at(0.99), sums.max_bytes, all};
}

}  // namespace

SiteMap::SiteMap(const Options& options, std::size_t stack_count)
    : sites_(options.site_of_stack),
      chosen_(options.stack_chosen),
      is_identity_(options.site_of_stack.empty()),
      stack_count_(std::max<std::size_t>(stack_count, 1)),
      site_count_(stack_count_) {
  if (is_identity_) {
    return;
  }
  if (sites_.size() != stack_count_) {
    throw std::invalid_argument("site_of_stack must have one entry per stack of the trace");
  }
  // A site without a stack is meaningless, so there are never more sites than stacks.
  const auto highest = *std::max_element(sites_.begin(), sites_.end());
  if (highest >= stack_count_) {
    throw std::invalid_argument("site_of_stack names a site beyond the number of stacks");
  }
  site_count_ = std::size_t{highest} + 1;
}

SiteCallSums::SiteCallSums(const SiteMap& map, std::size_t histogram_counts)
    : map_(map),
      stacks_(map.stack_count()),
      sizes_(map.site_count(), histogram_counts),
      latencies_(map.site_count(), histogram_counts),
      is_by_new_(map.stack_count()) {}

void StackCalls::add(const StackCalls& other) noexcept {
  allocations += other.allocations;
  bytes += other.bytes;
  overhead_bytes += other.overhead_bytes;
  reallocs += other.reallocs;
  allocator_ns += other.allocator_ns;
  max_ns = std::max(max_ns, other.max_ns);
  max_bytes = std::max(max_bytes, other.max_bytes);
  min_bytes_inverted = std::max(min_bytes_inverted, other.min_bytes_inverted);
}

void SiteCallSums::add(const SiteCallSums& other) {
  for (std::size_t stack = 0; stack < stacks_.size(); ++stack) {
    const auto& from = other.stacks_[stack];
    if (from.allocations == 0) {
      continue;
    }
    stacks_[stack].add(from);
    is_by_new_[stack] |= other.is_by_new_[stack];
  }
  others_.push_back(&other);
}

void SiteCallSums::add_sizes_to(std::uint32_t site, std::vector<std::uint64_t>& counts) const {
  sizes_.add_to(site, counts);
  for (const auto* other : others_) {
    other->sizes_.add_to(site, counts);
  }
}

std::uint64_t SiteCallSums::sizes_left_out() const noexcept {
  return std::accumulate(others_.begin(), others_.end(), sizes_.left_out(),
                         [](auto sum, const auto* other) { return sum + other->sizes_.left_out(); });
}

void SiteCallSums::finish(Facts& facts) const {
  facts.totals.sizes_left_out = sizes_left_out();
  facts.totals.latencies_left_out =
      std::accumulate(others_.begin(), others_.end(), latencies_.left_out(),
                      [](auto sum, const auto* other) { return sum + other->latencies_.left_out(); });
  facts.stacks.resize(stacks_.size());
  facts.stack_lives.resize(stacks_.size());
  std::vector<StackCalls> sums(map_.site_count());
  for (std::uint32_t stack = 0; stack < stacks_.size(); ++stack) {
    const auto& from = stacks_[stack];
    auto& to = facts.stacks[stack];
    to.allocations = from.allocations;
    to.by_operator_new = is_by_new_[stack] != 0 ? from.allocations : 0;
    to.bytes = from.bytes;
    to.overhead_bytes = from.overhead_bytes;
    to.reallocs = from.reallocs;
    to.allocator_ns = from.allocator_ns;
    sums[map_.site_of(stack)].add(from);
  }
  std::vector<std::uint64_t> latency_counts;
  std::vector<std::uint64_t> size_counts;
  for (std::uint32_t site = 0; site < map_.site_count(); ++site) {
    latency_counts.clear();
    size_counts.clear();
    add_sizes_to(site, size_counts);
    latencies_.add_to(site, latency_counts);
    for (const auto* other : others_) {
      other->latencies_.add_to(site, latency_counts);
    }
    facts.site_latency.push_back(
        latency_of(latency_counts.data(), latency_counts.size(), sums[site].allocator_ns, sums[site].max_ns));
    facts.site_sizes.push_back(sizes_of(size_counts, sums[site]));
  }
}

SiteLives::SiteLives(const SiteMap& map) : map_(map), stacks_(map.stack_count()), sites_(map.site_count()) {}

void SiteLives::begin_window(std::uint64_t version) {
  for (auto& life : stacks_) {
    life.live.keep_peak(version);
    const auto live = life.live;
    life = {};
    life.live = live;
    life.own_peak_bytes = live.bytes;
    life.own_peak_blocks = live.blocks;
  }
  for (auto& site : sites_) {
    site.peak_bytes = site.bytes;
  }
}

void SiteLives::finish(std::uint64_t version, Facts& facts) {
  for (std::size_t stack = 0; stack < stacks_.size(); ++stack) {
    auto& life = stacks_[stack];
    if (life.live.peak_version == 0 && life.live.blocks == 0 && life.own_peak_bytes == 0 &&
        life.temporaries == 0) {
      continue;
    }
    life.live.keep_peak(version);
    auto& to = facts.stacks[stack];
    to.temporaries = life.temporaries;
    to.live_at_peak_blocks = life.live.at_peak_blocks;
    to.live_at_peak_bytes = life.live.at_peak_bytes;
    to.live_at_end_blocks = life.live.blocks;
    to.live_at_end_bytes = life.live.bytes;
    to.own_peak_bytes = life.own_peak_bytes;
    facts.stack_lives[stack].own_peak_blocks = life.own_peak_blocks;
  }
  facts.sites.resize(map_.site_count());
  for (std::size_t site = 0; site < sites_.size(); ++site) {
    facts.sites[site].own_peak_bytes = sites_[site].peak_bytes;
  }
}

void fold_stacks_into_sites(const SiteMap& map, Facts& facts) {
  if (map.is_identity()) {
    facts.sites = facts.stacks;
    return;
  }
  for (std::uint32_t stack = 0; stack < facts.stacks.size(); ++stack) {
    const auto& from = facts.stacks[stack];
    auto& to = facts.sites[map.site_of(stack)];
    to.allocations += from.allocations;
    to.by_operator_new += from.by_operator_new;
    to.bytes += from.bytes;
    to.overhead_bytes += from.overhead_bytes;
    to.reallocs += from.reallocs;
    to.temporaries += from.temporaries;
    to.freed_by_other_thread += from.freed_by_other_thread;
    to.allocator_ns += from.allocator_ns;
    to.release_ns += from.release_ns;
    to.live_at_peak_blocks += from.live_at_peak_blocks;
    to.live_at_peak_bytes += from.live_at_peak_bytes;
    to.live_at_end_blocks += from.live_at_end_blocks;
    to.live_at_end_bytes += from.live_at_end_bytes;
    to.live_at_end_parts |= from.live_at_end_parts;
    to.live_at_pause_blocks += from.live_at_pause_blocks;
    to.live_at_pause_bytes += from.live_at_pause_bytes;
    to.lifetime_sum_ns += from.lifetime_sum_ns;
    to.freed += from.freed;
  }
}

}  // namespace heapwright::analyze
