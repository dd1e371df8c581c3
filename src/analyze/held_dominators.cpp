// SPDX-License-Identifier: MIT
#include "analyze/held_dominators.hpp"

#include <algorithm>
#include <vector>

namespace heapwright::analyze {
namespace {

bool holds_for_a_moment(const trace::GraphRoot& root) noexcept {
  using trace::RootKind;
  return root.kind == RootKind::stack || root.kind == RootKind::registers || root.kind == RootKind::young ||
         root.kind == RootKind::moving;
}

class Edges {
 public:
  explicit Edges(const trace::HeapGraph& graph)
      : graph_(graph),
        blocks_(static_cast<std::uint32_t>(graph.nodes.size())),
        start_(blocks_ + static_cast<std::uint32_t>(graph.roots.size())) {}

  graph::Graph whole() const {
    const graph::Graph lasting(start_ + 1, edges(true));
    return graph::Graph(start_ + 1, edges_beside(graph::dominators_from(lasting, start_).of));
  }

 private:
  bool is_passing(std::uint32_t node) const noexcept {
    return node >= blocks_ && node < start_ && holds_for_a_moment(graph_.roots[node - blocks_]);
  }

  // Without those of stacks and registers, if only what lasts counts.
  std::vector<graph::Edge> edges(bool only_lasting) const {
    std::vector<graph::Edge> found;
    found.reserve(graph_.edges.size() + graph_.roots.size());
    for (const trace::GraphEdge& edge : graph_.edges) {
      if (!only_lasting || !is_passing(edge.from)) found.emplace_back(edge.from, edge.to);
    }
    for (std::uint32_t root = blocks_; root < start_; ++root) {
      if (!only_lasting || !is_passing(root)) found.emplace_back(start_, root);
    }
    return found;
  }

  // All, except those of stacks and registers to what lasts without them.
  std::vector<graph::Edge> edges_beside(const std::vector<std::uint32_t>& lasting) const {
    std::vector<graph::Edge> found = edges(false);
    std::erase_if(found, [&](const graph::Edge& edge) {
      return is_passing(edge.first) && lasting[edge.second] != graph::none;
    });
    return found;
  }

  const trace::HeapGraph& graph_;
  std::uint32_t blocks_;
  std::uint32_t start_;
};

}  // namespace

HeldDominators::HeldDominators(const trace::HeapGraph& graph)
    : blocks(static_cast<std::uint32_t>(graph.nodes.size())),
      start(blocks + static_cast<std::uint32_t>(graph.roots.size())),
      whole(Edges(graph).whole()),
      dominators(graph::dominators_from(whole, start)) {}

}  // namespace heapwright::analyze
