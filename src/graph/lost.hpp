// SPDX-License-Identifier: MIT
// Lost nodes: which of them nothing else leads to.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.hpp"

namespace heapwright::graph {

enum class LostKind : std::uint8_t {
  not_lost,
  directly,  // no other lost node points to it
  in_cycle,  // only nodes that it leads to itself
  owned,     // by lost nodes that it does not lead to
};

// For each node; those for which is_lost is 0 do not count.
std::vector<LostKind> kinds_of_lost(const Graph& graph, std::span<const std::uint8_t> is_lost);

}  // namespace heapwright::graph
