// SPDX-License-Identifier: MIT
// Directed graphs of numbered nodes.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace heapwright::graph {

inline constexpr std::uint32_t none = UINT32_MAX;

using Edge = std::pair<std::uint32_t, std::uint32_t>;  // from, to

// Takes 4 bytes for each node and edge.
class Graph {
 public:
  // Edges between nodes below `nodes`, in any order.
  Graph(std::uint32_t nodes, std::span<const Edge> edges);

  std::uint32_t nodes() const noexcept { return static_cast<std::uint32_t>(first_.size() - 1); }
  std::span<const std::uint32_t> next(std::uint32_t node) const noexcept {
    return std::span(to_).subspan(first_[node], first_[node + 1] - first_[node]);
  }

 private:
  std::vector<std::uint32_t> first_;  // of each node's successors in to_; one more
  std::vector<std::uint32_t> to_;
};

}  // namespace heapwright::graph
