// SPDX-License-Identifier: MIT
// What each block of a snapshot retains, and the holders as a tree.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/heap_graph.hpp"

namespace heapwright::analyze {

// By number: blocks, then roots.
struct GraphSums {
  std::vector<std::uint64_t> dominator;  // the block or root without which it would not be reached; none: own
                                         // number (several roots lead to it) or no_dominator (it is lost)
  std::vector<std::uint64_t> retained_bytes;  // what would go with it, itself included
};
inline constexpr std::uint64_t no_dominator = UINT64_MAX;
GraphSums sums_of(const trace::HeapGraph& graph);

// What each holder retains, and through which sites. Nodes by number, each behind its parent; the first is
// the whole, which is its own parent. A site stands once on each way: a list is one node.
struct HeldTree {
  static constexpr std::uint64_t several = UINT64_MAX;   // holders together
  static constexpr std::uint64_t lost = UINT64_MAX - 1;  // held by nobody

  std::vector<std::uint64_t> parent;
  std::vector<std::uint64_t> is_site;
  std::vector<std::uint64_t> what;    // a site; or a root, or one of the above
  std::vector<std::uint64_t> blocks;  // its own
  std::vector<std::uint64_t> bytes;
};
HeldTree held_tree(const trace::HeapGraph& graph, std::span<const std::uint32_t> site_of_stack);

}  // namespace heapwright::analyze
