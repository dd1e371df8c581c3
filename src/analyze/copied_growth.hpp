// SPDX-License-Identifier: MIT
// Buffers that grow by a new block, a copy, and the free of the old one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyze/facts/patterns.hpp"
#include "analyze/histogram.hpp"
#include "analyze/site_histograms.hpp"
#include "analyze/sites.hpp"

namespace heapwright::analyze {

struct Facts;

class CopiedGrowths {
 public:
  // Frees after the new block's allocation: `s = s + x` first frees a copy of the old value. Larger steps are
  // seen in the first one only.
  static constexpr std::uint32_t most_frees = 2;

  CopiedGrowths(std::size_t sites, std::size_t histogram_counts) : old_sizes_(sites, histogram_counts) {}

  // Whether a block of `old_bytes` may have been replaced by one of `new_bytes`.
  static bool is_step(std::uint64_t old_bytes, std::uint64_t new_bytes) noexcept {
    return new_bytes > old_bytes && new_bytes <= 4 * old_bytes;
  }
  static bool is_small(std::uint64_t old_bytes, std::uint64_t new_bytes) noexcept {
    return new_bytes < old_bytes + old_bytes / 4;
  }
  // How long a copy took, with the calls around it. passed_ns: between their begin and end; longer if the
  // thread lost its processor there. So at most 2 ns a byte count, as into pages that are fetched first, and
  // 20 us for two calls that map and unmap.
  static std::uint64_t copy_ns(std::uint64_t passed_ns, std::uint64_t old_bytes) noexcept {
    return std::min(passed_ns, 2 * old_bytes + 20'000);
  }
  void add_small_step(std::uint32_t site, std::uint64_t old_bytes, std::uint64_t time_ns) {
    auto& sums = sites_[site];
    sums.site = site;
    ++sums.small_steps;
    sums.small_copied_bytes += old_bytes;
    sums.small_time_ns += copy_ns(time_ns, old_bytes);
  }
  void add_step(std::uint32_t site, std::uint64_t old_bytes, std::uint64_t time_ns) {
    auto& sums = sites_[site];
    sums.site = site;
    ++sums.steps;
    sums.copied_bytes += old_bytes;
    sums.time_ns += copy_ns(time_ns, old_bytes);
    old_sizes_.add(site, bucket_of(old_bytes), 1);
  }
  void begin_window(std::size_t sites, std::size_t histogram_counts);
  // Fills copied_growths, most steps first; `calls` has the sizes of all allocations. If there was no room
  // for all sizes, final ones are not reported: sizes of intermediate steps would count as final.
  void finish(const SiteCallSums& calls, Facts& facts) const;

 private:
  std::unordered_map<std::uint32_t, CopiedGrowth> sites_;
  SiteHistograms old_sizes_;
};

}  // namespace heapwright::analyze
