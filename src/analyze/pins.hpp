// SPDX-License-Identifier: MIT
// Sites whose blocks pin resident pages at one scan, how much is free there, and how old these pages and
// blocks are.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "analyze/blocks_over_time.hpp"
#include "analyze/facts/residency.hpp"

namespace heapwright::analyze {

// The sites with blocks on one page, by number; has_more: some did not fit.
struct SiteSet {
  std::array<std::uint32_t, 8> sites = {};
  std::uint32_t count = 0;
  bool has_more = false;

  void add(std::uint32_t site);
};

class Pins {
 public:
  void add_block(std::uint32_t site, const LiveBlock& block, std::uint64_t now_ns);
  // A page with blocks of this site only; its age is that of the oldest of them.
  void add_page(std::uint32_t site, std::uint64_t free_bytes, std::uint64_t age_ns);
  // A page with blocks of these sites, at least two of them.
  void add_shared_page(const SiteSet& sites, std::uint64_t free_bytes);
  // Appends the sets of sites that share pages, most pinned bytes first.
  void finish_sets(std::vector<PinSet>& sets, std::vector<std::uint64_t>& sites) const;
  // Appends the sites that pin or hold memory, most first, and their ages in the same order. held_by:
  // PinSite::held_bytes by site.
  void finish(const std::unordered_map<std::uint32_t, std::uint64_t>& held_by, std::vector<PinSite>& pins,
              std::vector<PinAge>& ages) const;

  static constexpr std::size_t most_sites = 64;
  static constexpr std::size_t most_sets = 64;

 private:
  struct Pin {
    PinSite sums;
    std::uint64_t addresses = 0;                // all bits that are set in any address
    std::array<std::uint64_t, 7> aligned = {};  // usable bytes, rounded up to 64 B, 128 B, ... up to a page
    std::map<std::uint64_t, PinAge> ages;       // by at_least_ns
  };

  struct Shared {
    std::uint64_t pages = 0;
    std::uint64_t pinned_bytes = 0;
  };

  std::unordered_map<std::uint32_t, Pin> pins_;  // by site
  std::map<std::vector<std::uint32_t>, Shared> sets_;
};

}  // namespace heapwright::analyze
