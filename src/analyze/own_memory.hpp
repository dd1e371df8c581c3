// SPDX-License-Identifier: MIT
// How much of the program's own mappings was resident over time, by site: the growth of memory that no heap
// call shows, such as the arenas of a nested allocator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "analyze/sites.hpp"
#include "order/source.hpp"

namespace heapwright::analyze {

class Mappings;
struct OwnMoment;

class OwnMemory {
 public:
  // scans: indices in the source, in order of time. At most 128 of them are looked at, spread evenly over
  // their time. Memory: the stacks that mapped, times these.
  OwnMemory(const order::Source& source, const std::vector<std::size_t>& scans);

  // At the begin of each scan, with the mappings of that time. Complexity: the scan's runs and the ranges.
  void look_at(std::size_t scan, const Mappings& mappings);
  // Without the mappings of these stacks: there are blocks in them.
  std::vector<OwnMoment> finish(const SiteMap& sites, const std::set<std::uint32_t>& of_heaps) const;

 private:
  const order::Source& source_;
  std::uint64_t every_ns_ = 0;
  std::uint64_t next_ns_ = 0;
  std::vector<std::uint64_t> times_ns_;
  // By stack: the resident bytes at each of these times.
  std::map<std::uint32_t, std::vector<std::uint64_t>> bytes_;
};

}  // namespace heapwright::analyze
