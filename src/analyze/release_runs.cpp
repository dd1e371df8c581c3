// SPDX-License-Identifier: MIT
#include "analyze/release_runs.hpp"

#include <algorithm>

#include "analyze/facts.hpp"
#include "analyze/facts/patterns.hpp"

namespace heapwright::analyze {
namespace {

// The site with the most blocks.
template <class OfSites>
std::uint32_t leading_site(const OfSites& sites) {
  const auto found = std::max_element(sites.begin(), sites.end(),
                                      [](const auto& a, const auto& b) { return a.blocks < b.blocks; });
  return found->site;
}

}  // namespace

void ReleaseRuns::add(std::uint32_t lane, std::uint32_t site, std::uint64_t bytes, std::uint64_t time_ns,
                      std::uint32_t duration_ns) {
  auto& open = open_[lane];
  auto& run = open.run;
  if (!open.sites.empty() && time_ns > open.last_end_ns + gap_ns) {
    close(lane);
  }
  if (run.blocks == 0) {
    run.begin_ns = time_ns;
  } else if (time_ns > open.last_ns) {
    run.busy_ns += std::min(time_ns - open.last_ns, open.last_end_ns - open.last_ns + most_between_ns);
  }
  if (open.sites.empty() || open.sites[open.latest].site != site) {
    const auto [found, is_new] = open.places.try_emplace(site, open.sites.size());
    if (is_new) {
      open.sites.push_back({site, 0, 0});
    }
    open.latest = found->second;
  }
  auto& of = open.sites[open.latest];
  ++of.blocks;
  of.bytes += bytes;
  run.end_ns = std::max(run.end_ns, time_ns);
  ++run.blocks;
  run.bytes += bytes;
  run.release_ns += duration_ns;
  open.last_ns = time_ns;
  open.last_end_ns = time_ns + duration_ns;
}

void ReleaseRuns::end(std::uint32_t lane, const SiteLives& lives) {
  auto& open = open_[lane];
  if (open.sites.empty()) {
    return;
  }
  close(lane);
  const auto leader = leading_site(open.sites);
  for (const auto& of : open.sites) {
    if (lives.moment_of(of.site).live_blocks * 8 > of.blocks) {
      continue;
    }
    const auto key = std::uint64_t{leader} << 32 | of.site;
    if (emptied_.size() >= most_pairs && emptied_.find(key) == emptied_.end()) {
      continue;
    }
    auto& sums = emptied_[key];
    sums.leader = leader;
    sums.site = of.site;
    ++sums.runs;
    sums.blocks += of.blocks;
    sums.bytes += of.bytes;
  }
  open.sites.clear();
  open.places.clear();
}

void ReleaseRuns::close(std::uint32_t lane) {
  auto& open = open_[lane];
  open.run.thread = thread_of_lane_[lane];
  open.run.site = leading_site(open.sites);
  keep(open.run);
  open.run = {};
}

// Keeps the longest ones by replacing the shortest.
void ReleaseRuns::keep(const ReleaseRun& run) {
  const auto is_longer = [](const ReleaseRun& a, const ReleaseRun& b) { return a.busy_ns > b.busy_ns; };
  if (runs_.size() >= most_runs) {
    if (run.busy_ns <= runs_.front().busy_ns) {
      return;
    }
    std::pop_heap(runs_.begin(), runs_.end(), is_longer);
    runs_.pop_back();
  }
  runs_.push_back(run);
  std::push_heap(runs_.begin(), runs_.end(), is_longer);
}

void ReleaseRuns::begin_window() {
  runs_.clear();
  emptied_.clear();
  for (auto& open : open_) {
    open.sites.clear();
    open.places.clear();
    open.run = {};
  }
}

void ReleaseRuns::finish(const SiteLives& lives, Facts& facts) {
  for (std::size_t lane = 0; lane < open_.size(); ++lane) {
    end(static_cast<std::uint32_t>(lane), lives);
  }
  facts.release_runs = runs_;
  std::sort(facts.release_runs.begin(), facts.release_runs.end(),
            [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
  for (const auto& entry : emptied_) {
    facts.emptied_sites.push_back(entry.second);
  }
  std::sort(facts.emptied_sites.begin(), facts.emptied_sites.end(), [](const auto& a, const auto& b) {
    return a.blocks != b.blocks ? a.blocks > b.blocks
                                : (a.leader != b.leader ? a.leader < b.leader : a.site < b.site);
  });
}

}  // namespace heapwright::analyze
