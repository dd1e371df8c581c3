// SPDX-License-Identifier: MIT
#include "analyze/realloc_chains.hpp"

#include <algorithm>

namespace heapwright::analyze {

void ChainSums::add(std::uint32_t site, const Chain& chain, std::uint64_t final_bytes, std::uint64_t weight) {
  auto& sums = sites_[site];
  sums.site = site;
  sums.chains += weight;
  sums.steps += chain.steps * weight;
  sums.moved += chain.moved * weight;
  sums.copied_bytes += chain.copied_bytes * weight;
  sums.steps_ns += chain.steps_ns * weight;
  sums.longest_steps = std::max(sums.longest_steps, chain.steps);
  sums.final_bytes += final_bytes * weight;
}

std::vector<ReallocChains> ChainSums::finish() const {
  std::vector<ReallocChains> chains;
  chains.reserve(sites_.size());
  for (const auto& entry : sites_) {
    chains.push_back(entry.second);
  }
  std::sort(chains.begin(), chains.end(), [](const auto& a, const auto& b) {
    if (a.copied_bytes != b.copied_bytes) {
      return a.copied_bytes > b.copied_bytes;
    }
    return a.steps != b.steps ? a.steps > b.steps : a.site < b.site;
  });
  return chains;
}

}  // namespace heapwright::analyze
