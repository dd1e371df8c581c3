// SPDX-License-Identifier: MIT
#include "graph/lost.hpp"

#include <algorithm>

namespace heapwright::graph {
namespace {

// Numbers the strongly connected components of lost nodes (Tarjan, Depth-first search and linear graph
// algorithms, 1972).
class Components {
 public:
  Components(const Graph& graph, std::span<const std::uint8_t> is_lost)
      : graph_(graph), is_lost_(is_lost), number_(graph.nodes(), none), low_(graph.nodes()) {
    of_.assign(graph.nodes(), none);
    for (std::uint32_t node = 0; node < graph.nodes(); ++node) {
      if (is_lost[node] != 0 && number_[node] == none) walk(node);
    }
  }

  const std::vector<std::uint32_t>& of() const noexcept { return of_; }
  const std::vector<std::uint32_t>& sizes() const noexcept { return sizes_; }

 private:
  struct Step {
    std::uint32_t node;
    std::uint32_t next;  // of its successors
  };

  void enter(std::uint32_t node) {
    number_[node] = low_[node] = next_number_++;
    open_.push_back(node);
    path_.push_back({node, 0});
  }

  void walk(std::uint32_t start) {
    enter(start);
    while (!path_.empty()) {
      Step& step = path_.back();
      const auto next = graph_.next(step.node);
      if (step.next == next.size()) {
        leave();
        continue;
      }
      const std::uint32_t to = next[step.next++];
      if (is_lost_[to] == 0) continue;
      if (number_[to] == none) {
        enter(to);
      } else if (of_[to] == none) {
        low_[step.node] = std::min(low_[step.node], number_[to]);
      }
    }
  }

  void leave() {
    const std::uint32_t node = path_.back().node;
    path_.pop_back();
    if (!path_.empty()) low_[path_.back().node] = std::min(low_[path_.back().node], low_[node]);
    if (low_[node] != number_[node]) return;
    const auto component = static_cast<std::uint32_t>(sizes_.size());
    sizes_.push_back(0);
    std::uint32_t member = none;
    while (member != node) {
      member = open_.back();
      open_.pop_back();
      of_[member] = component;
      ++sizes_.back();
    }
  }

  const Graph& graph_;
  std::span<const std::uint8_t> is_lost_;
  std::vector<std::uint32_t> number_;
  std::vector<std::uint32_t> low_;  // the least number that is reached and in no component yet
  std::vector<std::uint32_t> of_;
  std::vector<std::uint32_t> sizes_;
  std::vector<std::uint32_t> open_;
  std::vector<Step> path_;
  std::uint32_t next_number_ = 0;
};

}  // namespace

std::vector<LostKind> kinds_of_lost(const Graph& graph, std::span<const std::uint8_t> is_lost) {
  const Components components(graph, is_lost);
  const std::vector<std::uint32_t>& of = components.of();
  std::vector<std::uint8_t> is_owned(components.sizes().size());
  for (std::uint32_t node = 0; node < graph.nodes(); ++node) {
    if (is_lost[node] == 0) continue;
    for (const std::uint32_t to : graph.next(node)) {
      if (is_lost[to] != 0 && of[to] != of[node]) is_owned[of[to]] = 1;
    }
  }
  std::vector<LostKind> kinds(graph.nodes(), LostKind::not_lost);
  for (std::uint32_t node = 0; node < graph.nodes(); ++node) {
    if (is_lost[node] == 0) continue;
    const LostKind alone = components.sizes()[of[node]] > 1 ? LostKind::in_cycle : LostKind::directly;
    kinds[node] = is_owned[of[node]] != 0 ? LostKind::owned : alone;
  }
  return kinds;
}

}  // namespace heapwright::graph
