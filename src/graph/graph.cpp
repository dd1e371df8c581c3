// SPDX-License-Identifier: MIT
#include "graph/graph.hpp"

#include <numeric>

namespace heapwright::graph {

Graph::Graph(std::uint32_t nodes, std::span<const Edge> edges) : first_(nodes + 1U), to_(edges.size()) {
  for (const auto& [from, to] : edges) ++first_[from + 1U];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  std::vector<std::uint32_t> at(first_.begin(), first_.end() - 1);
  for (const auto& [from, to] : edges) to_[at[from]++] = to;
}

}  // namespace heapwright::graph
