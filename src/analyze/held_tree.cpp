// SPDX-License-Identifier: MIT
#include "analyze/held_tree.hpp"

#include <map>
#include <tuple>
#include <utility>

#include "analyze/held_dominators.hpp"

namespace heapwright::analyze {
namespace {

constexpr std::size_t most_tree_nodes = std::size_t{1} << 18U;

// Adds blocks to the nodes of a HeldTree.
class TreeBuilder {
 public:
  TreeBuilder() { add(0, false, 0); }

  std::uint32_t root(std::uint64_t what) { return child(0, false, what); }

  // The node of a site's blocks below this one.
  std::uint32_t below(std::uint32_t node, std::uint64_t site) {
    for (std::uint32_t at = node; tree.is_site[at] != 0; at = static_cast<std::uint32_t>(tree.parent[at])) {
      if (tree.what[at] == site) return at;
    }
    return tree.parent.size() < most_tree_nodes ? child(node, true, site) : node;
  }

  void count(std::uint32_t node, std::uint64_t bytes) {
    ++tree.blocks[node];
    tree.bytes[node] += bytes;
  }

  HeldTree tree;

 private:
  std::uint32_t child(std::uint32_t node, bool is_site, std::uint64_t what) {
    const auto [found, is_new] = numbers_.try_emplace({node, is_site, what}, 0);
    if (is_new) found->second = add(node, is_site, what);
    return found->second;
  }

  std::uint32_t add(std::uint32_t parent, bool is_site, std::uint64_t what) {
    tree.parent.push_back(parent);
    tree.is_site.push_back(is_site ? 1 : 0);
    tree.what.push_back(what);
    tree.blocks.push_back(0);
    tree.bytes.push_back(0);
    return static_cast<std::uint32_t>(tree.parent.size() - 1);
  }

  std::map<std::tuple<std::uint32_t, bool, std::uint64_t>, std::uint32_t> numbers_;
};

}  // namespace

GraphSums sums_of(const trace::HeapGraph& graph) {
  const HeldDominators reached(graph);
  std::vector<std::uint64_t> weights(reached.start + 1U);
  for (std::uint32_t block = 0; block < reached.blocks; ++block) weights[block] = graph.nodes[block].size;
  GraphSums found;
  found.retained_bytes = graph::retained(reached.dominators, weights);
  found.retained_bytes.pop_back();  // of the start
  for (std::uint32_t node = 0; node < reached.start; ++node) {
    const std::uint32_t above = reached.dominators.of[node];
    found.dominator.push_back(above == graph::none ? no_dominator : above == reached.start ? node : above);
  }
  return found;
}

HeldTree held_tree(const trace::HeapGraph& graph, std::span<const std::uint32_t> site_of_stack) {
  const HeldDominators reached(graph);
  TreeBuilder builder;
  const auto site_of = [&](std::uint32_t block) {
    const std::uint32_t stack = graph.nodes[block].stack;
    return stack < site_of_stack.size() ? site_of_stack[stack] : 0;
  };
  std::vector<std::uint32_t> node_of(reached.start + 1U, 0);
  for (const std::uint32_t node : reached.dominators.order) {
    if (node >= reached.blocks) continue;
    const std::uint32_t above = reached.dominators.of[node];
    std::uint32_t place = 0;
    if (above == reached.start) {
      place = builder.root(HeldTree::several);
    } else {
      place = above >= reached.blocks ? builder.root(above - reached.blocks) : node_of[above];
    }
    node_of[node] = builder.below(place, site_of(node));
    builder.count(node_of[node], graph.nodes[node].size);
  }
  for (std::uint32_t block = 0; block < reached.blocks; ++block) {
    if (reached.dominators.of[block] != graph::none) continue;
    const std::uint32_t lost = builder.root(HeldTree::lost);
    builder.count(builder.below(lost, site_of(block)), graph.nodes[block].size);
  }
  return std::move(builder.tree);
}

}  // namespace heapwright::analyze
