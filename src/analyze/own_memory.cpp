// SPDX-License-Identifier: MIT
#include "analyze/own_memory.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "analyze/facts/mappings.hpp"
#include "analyze/mappings.hpp"
#include "analyze/page_owners.hpp"
#include "trace/damage.hpp"
#include "trace/residency.hpp"

namespace heapwright::analyze {
namespace {

constexpr std::uint64_t most_looks = 128;
constexpr std::size_t most_sites = 8;
constexpr std::uint64_t least_bytes = std::uint64_t{1} << 20;

using ByStack = std::map<std::uint32_t, std::uint64_t>;

// Of the resident anonymous pages. Runs are by address within a window, and so are windows.
ByStack resident_of(const trace::ResidencyScan& scan, const std::vector<OwnRange>& own) {
  ByStack found;
  for (const auto& run : scan.runs) {
    if (run.kind != trace::PageKind::anonymous) {
      continue;
    }
    auto range =
        std::partition_point(own.begin(), own.end(), [&](const OwnRange& of) { return of.end <= run.begin; });
    for (; range != own.end() && range->begin < run.end; ++range) {
      found[range->stack] += std::min(range->end, run.end) - std::max(range->begin, run.begin);
    }
  }
  return found;
}

}  // namespace

OwnMemory::OwnMemory(const order::Source& source, const std::vector<std::size_t>& scans) : source_(source) {
  if (!scans.empty()) {
    const auto& all = source.scans();
    every_ns_ = (all[scans.back()].begin_ns - all[scans.front()].begin_ns) / most_looks;
  }
}

void OwnMemory::look_at(std::size_t scan, const Mappings& mappings) {
  const auto& chunk = source_.scans()[scan];
  if (chunk.begin_ns < next_ns_) {
    return;
  }
  next_ns_ = chunk.begin_ns + every_ns_;
  const auto own = mappings.ranges();
  if (own.empty() && bytes_.empty()) {
    times_ns_.push_back(chunk.begin_ns);
    return;
  }
  ByStack found;
  try {
    found = resident_of(source_.decode(chunk), own);
  } catch (const trace::TraceError&) {
    return;  // a damaged scan is ignored
  }
  times_ns_.push_back(chunk.begin_ns);
  for (const auto& [stack, bytes] : found) {
    auto& row = bytes_[stack];
    row.resize(times_ns_.size());
    row.back() = bytes;
  }
}

std::vector<OwnMoment> OwnMemory::finish(const SiteMap& sites,
                                         const std::set<std::uint32_t>& of_heaps) const {
  std::map<std::uint32_t, std::vector<std::uint64_t>> of_sites;
  for (const auto& [stack, bytes] : bytes_) {
    if (of_heaps.contains(stack)) {
      continue;
    }
    auto& row = of_sites[sites.site_of(stack)];
    row.resize(times_ns_.size());
    std::transform(bytes.begin(), bytes.end(), row.begin(), row.begin(), std::plus<>{});
  }
  std::vector<std::pair<std::uint64_t, std::uint32_t>> largest;
  for (const auto& [site, bytes] : of_sites) {
    const auto most = *std::max_element(bytes.begin(), bytes.end());
    if (most >= least_bytes) {
      largest.emplace_back(most, site);
    }
  }
  std::sort(largest.rbegin(), largest.rend());
  largest.resize(std::min(largest.size(), most_sites));
  std::vector<OwnMoment> rows;
  for (const auto& [most, site] : largest) {
    for (std::size_t at = 0; at < times_ns_.size(); ++at) {
      rows.push_back({times_ns_[at], site, of_sites[site][at]});
    }
  }
  return rows;
}

}  // namespace heapwright::analyze
