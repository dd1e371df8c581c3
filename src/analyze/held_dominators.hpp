// SPDX-License-Identifier: MIT
// Which blocks of a snapshot are reached, and what each way to them passes.
#pragma once

#include <cstdint>

#include "graph/dominators.hpp"
#include "graph/graph.hpp"
#include "trace/heap_graph.hpp"

namespace heapwright::analyze {

// Pointers on stacks and in registers hold only what nothing else does: they are gone in a moment, and would
// make every block in use one of several holders.
struct HeldDominators {
  explicit HeldDominators(const trace::HeapGraph& graph);

  // Nodes: blocks, then roots, then the start, which points to all roots.
  std::uint32_t blocks;
  std::uint32_t start;
  graph::Graph whole;
  graph::Dominators dominators;
};

}  // namespace heapwright::analyze
