// SPDX-License-Identifier: MIT
#include "analyze/copied_growth.hpp"

#include <algorithm>
#include <numeric>

#include "analyze/facts.hpp"

namespace heapwright::analyze {
namespace {

void set_final_sizes(const std::vector<std::uint64_t>& counts, CopiedGrowth& of) {
  of.chains = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  if (of.chains == 0) {
    return;
  }
  const auto at = [&](double share) {
    return percentile(counts.data(), counts.size(), of.chains, share, UINT64_MAX);
  };
  of.final_p50_bytes = at(0.5);
  of.final_p75_bytes = at(0.75);
  of.final_p90_bytes = at(0.9);
}

}  // namespace

void CopiedGrowths::begin_window(std::size_t sites, std::size_t histogram_counts) {
  sites_.clear();
  old_sizes_ = SiteHistograms(sites, histogram_counts);
}

void CopiedGrowths::finish(const SiteCallSums& calls, Facts& facts) const {
  const bool is_whole = old_sizes_.left_out() == 0 && calls.sizes_left_out() == 0;
  std::vector<std::uint64_t> finals;
  std::vector<std::uint64_t> old;
  for (const auto& entry : sites_) {
    auto growth = entry.second;
    finals.clear();
    old.clear();
    calls.add_sizes_to(growth.site, finals);
    old_sizes_.add_to(growth.site, old);
    // The allocation of a block from before the analysed time is not counted.
    for (std::size_t bucket = 0; bucket < std::min(finals.size(), old.size()); ++bucket) {
      finals[bucket] -= std::min(finals[bucket], old[bucket]);
    }
    if (is_whole) set_final_sizes(finals, growth);
    facts.copied_growths.push_back(growth);
  }
  std::sort(facts.copied_growths.begin(), facts.copied_growths.end(), [](const auto& a, const auto& b) {
    return a.steps != b.steps ? a.steps > b.steps : a.site < b.site;
  });
}

}  // namespace heapwright::analyze
