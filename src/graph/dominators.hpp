// SPDX-License-Identifier: MIT
// Which node all paths pass, and what each one retains.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.hpp"

namespace heapwright::graph {

struct Dominators {
  std::vector<std::uint32_t> order;  // reached nodes, each behind its dominator; the start is the first
  // By node: the last other node on every path to it. none: not reached; of the start, itself.
  std::vector<std::uint32_t> of;
};

// By the SEMI-NCA algorithm (Georgiadis, Linear-Time Algorithms for Dominators and Related Problems, 2005).
Dominators dominators_from(const Graph& graph, std::uint32_t start);

// By node: its own weight and those of all nodes that it dominates, which would go with it. 0: not reached.
std::vector<std::uint64_t> retained(const Dominators& dominators, std::span<const std::uint64_t> weights);

}  // namespace heapwright::graph
