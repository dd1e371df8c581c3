// SPDX-License-Identifier: MIT
#include "graph/nearest.hpp"

namespace heapwright::graph {

Nearest nearest_from(const Graph& graph, std::uint32_t start) {
  Nearest found{{start}, std::vector<std::uint32_t>(graph.nodes(), none)};
  found.from[start] = start;
  for (std::size_t at = 0; at < found.order.size(); ++at) {
    const std::uint32_t node = found.order[at];
    for (const std::uint32_t next : graph.next(node)) {
      if (found.from[next] != none) continue;
      found.from[next] = node;
      found.order.push_back(next);
    }
  }
  return found;
}

}  // namespace heapwright::graph
