// SPDX-License-Identifier: MIT
// The shortest ways from a node to all others.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.hpp"

namespace heapwright::graph {

struct Nearest {
  std::vector<std::uint32_t> order;  // what is reached, the nearest first
  std::vector<std::uint32_t>
      from;  // by node: the one before it on the way; of the start itself; none: not reached
};

// Breadth first: time and memory are linear.
Nearest nearest_from(const Graph& graph, std::uint32_t start);

}  // namespace heapwright::graph
