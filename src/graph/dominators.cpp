// SPDX-License-Identifier: MIT
#include "graph/dominators.hpp"

#include <algorithm>
#include <utility>

namespace heapwright::graph {
namespace {

// Reached nodes are numbered in the order of a depth-first walk.
class SemiNca {
 public:
  SemiNca(const Graph& graph, std::uint32_t start) : graph_(graph), number_(graph.nodes(), none) {
    walk(start);
    find_callers();
  }

  Dominators dominators() {
    find_semidominators();
    // The nearest common ancestor of a node's parent and its semidominator.
    std::vector<std::uint32_t> above = tree_parent_;
    for (std::uint32_t node = 1; node < nodes_.size(); ++node) {
      while (above[node] > semi_[node]) above[node] = above[above[node]];
    }
    Dominators found{std::move(nodes_), std::vector<std::uint32_t>(graph_.nodes(), none)};
    for (std::uint32_t node = 0; node < found.order.size(); ++node) {
      found.of[found.order[node]] = found.order[above[node]];
    }
    return found;
  }

 private:
  struct Step {
    std::uint32_t node;
    std::uint32_t next;  // of its successors
  };

  void reach(std::uint32_t node, std::uint32_t parent) {
    number_[node] = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back(node);
    tree_parent_.push_back(parent);
  }

  void walk(std::uint32_t start) {
    std::vector<Step> path{{start, 0}};
    reach(start, 0);
    while (!path.empty()) {
      Step& step = path.back();
      const auto next = graph_.next(step.node);
      while (step.next < next.size() && number_[next[step.next]] != none) ++step.next;
      if (step.next == next.size()) {
        path.pop_back();
        continue;
      }
      const std::uint32_t node = next[step.next];
      reach(node, number_[step.node]);
      path.push_back({node, 0});
    }
  }

  // Which numbers lead to each number.
  void find_callers() {
    first_caller_.assign(nodes_.size() + 1, 0);
    for (const std::uint32_t node : nodes_) {
      for (const std::uint32_t to : graph_.next(node)) ++first_caller_[number_[to] + 1];
    }
    for (std::size_t i = 1; i < first_caller_.size(); ++i) first_caller_[i] += first_caller_[i - 1];
    callers_.resize(first_caller_.back());
    std::vector<std::uint32_t> at(first_caller_.begin(), first_caller_.end() - 1);
    for (std::uint32_t from = 0; from < nodes_.size(); ++from) {
      for (const std::uint32_t to : graph_.next(nodes_[from])) callers_[at[number_[to]]++] = from;
    }
  }

  void find_semidominators() {
    ancestor_ = tree_parent_;
    semi_.resize(nodes_.size());
    for (std::uint32_t node = 0; node < semi_.size(); ++node) semi_[node] = node;
    label_ = semi_;
    for (auto node = static_cast<std::uint32_t>(nodes_.size()); node-- > 1;) {
      std::uint32_t least = tree_parent_[node];
      for (std::uint32_t i = first_caller_[node]; i < first_caller_[node + 1]; ++i) {
        least = std::min(least, semi_[least_label(callers_[i], node + 1)]);
      }
      semi_[node] = least;
    }
  }

  // The node with the least semidominator between `node` and the last one that is linked, which are the
  // numbers from `linked` on. Shortens the path for the next time.
  std::uint32_t least_label(std::uint32_t node, std::uint32_t linked) {
    if (ancestor_[node] < linked) return label_[node];
    path_.clear();
    do {
      path_.push_back(node);
      node = ancestor_[node];
    } while (ancestor_[node] >= linked);
    std::uint32_t above = node;
    std::uint32_t label = label_[above];
    for (auto at = path_.rbegin(); at != path_.rend(); ++at) {
      ancestor_[*at] = ancestor_[above];
      if (semi_[label] < semi_[label_[*at]]) {
        label_[*at] = label;
      } else {
        label = label_[*at];
      }
      above = *at;
    }
    return label_[above];
  }

  const Graph& graph_;
  std::vector<std::uint32_t> number_;  // by node
  // By number:
  std::vector<std::uint32_t> nodes_;
  std::vector<std::uint32_t> tree_parent_;
  std::vector<std::uint32_t> ancestor_;
  std::vector<std::uint32_t> semi_;
  std::vector<std::uint32_t> label_;
  std::vector<std::uint32_t> first_caller_;  // in callers_; one more
  std::vector<std::uint32_t> callers_;
  std::vector<std::uint32_t> path_;
};

}  // namespace

Dominators dominators_from(const Graph& graph, std::uint32_t start) {
  return SemiNca(graph, start).dominators();
}

std::vector<std::uint64_t> retained(const Dominators& dominators, std::span<const std::uint64_t> weights) {
  std::vector<std::uint64_t> sums(dominators.of.size());
  for (const std::uint32_t node : dominators.order) sums[node] = weights[node];
  for (std::size_t i = dominators.order.size(); i-- > 1;) {
    const std::uint32_t node = dominators.order[i];
    sums[dominators.of[node]] += sums[node];
  }
  return sums;
}

}  // namespace heapwright::graph
