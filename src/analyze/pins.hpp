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

class Pins {
 public:
  void add_block(std::uint32_t site, const LiveBlock& block, std::uint64_t now_ns);
  // A page with blocks of this site only; its age is that of the oldest of them.
  void add_page(std::uint32_t site, std::uint64_t free_bytes, std::uint64_t age_ns);
  // Appends the sites that pin or hold memory, most first, and their ages in the same order. held_by:
  // PinSite::held_bytes by site.
  void finish(const std::unordered_map<std::uint32_t, std::uint64_t>& held_by, std::vector<PinSite>& pins,
              std::vector<PinAge>& ages) const;

  static constexpr std::size_t most_sites = 64;

 private:
  struct Pin {
    PinSite sums;
    std::uint64_t addresses = 0;                // all bits that are set in any address
    std::array<std::uint64_t, 7> aligned = {};  // usable bytes, rounded up to 64 B, 128 B, ... up to a page
    std::map<std::uint64_t, PinAge> ages;       // by at_least_ns
  };

  std::unordered_map<std::uint32_t, Pin> pins_;  // by site
};

}  // namespace heapwright::analyze
