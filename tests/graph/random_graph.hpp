// SPDX-License-Identifier: MIT
// Random graphs, and reachability by the plainest walk.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "graph/graph.hpp"

namespace heapwright::graph::test {

struct RandomGraph {
  std::uint32_t nodes = 0;
  std::vector<Edge> edges;
};

inline RandomGraph random_graph(std::mt19937& random) {
  RandomGraph made;
  made.nodes = static_cast<std::uint32_t>(1 + random() % 24);
  const auto edges = static_cast<std::uint32_t>(random() % (3 * made.nodes));
  for (std::uint32_t i = 0; i < edges; ++i)
    made.edges.emplace_back(random() % made.nodes, random() % made.nodes);
  return made;
}

// Which nodes `start` leads to, itself included, on paths that avoid `without`.
inline std::vector<bool> reached(const RandomGraph& of, std::uint32_t start, std::uint32_t without) {
  std::vector<bool> found(of.nodes);
  if (start == without) return found;
  found[start] = true;
  for (bool has_more = true; has_more;) {
    has_more = false;
    for (const auto& [from, to] : of.edges) {
      if (!found[from] || found[to] || to == without) continue;
      found[to] = has_more = true;
    }
  }
  return found;
}

}  // namespace heapwright::graph::test
