// SPDX-License-Identifier: MIT
// Shortest ways against one more round of edges for each step.
#include "graph/nearest.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "random_graph.hpp"

namespace heapwright::graph::test {
namespace {

// Steps from node 0; none: not reached.
std::vector<std::uint32_t> distances(const RandomGraph& of) {
  std::vector<std::uint32_t> found(of.nodes, none);
  found[0] = 0;
  for (std::uint32_t round = 0; round < of.nodes; ++round) {
    for (const auto& [from, to] : of.edges) {
      if (found[from] == round && found[to] == none) found[to] = round + 1;
    }
  }
  return found;
}

}  // namespace

TEST(Nearest, AreAsManyStepsAwayAsOnTheShortestWay) {
  std::mt19937 random(11);
  for (int round = 0; round < 2000; ++round) {
    const RandomGraph made = random_graph(random);
    const Nearest found = nearest_from(Graph(made.nodes, made.edges), 0);
    const std::vector<std::uint32_t> expected = distances(made);
    std::vector<std::uint32_t> steps(made.nodes, none);
    for (const std::uint32_t node : found.order) steps[node] = node == 0 ? 0 : steps[found.from[node]] + 1;
    ASSERT_EQ(steps, expected) << "round " << round;
    ASSERT_TRUE(std::is_sorted(found.order.begin(), found.order.end(),
                               [&](std::uint32_t a, std::uint32_t b) { return steps[a] < steps[b]; }));
    for (std::uint32_t node = 0; node < made.nodes; ++node) {
      ASSERT_EQ(found.from[node] == none, expected[node] == none) << "round " << round;
    }
  }
}

}  // namespace heapwright::graph::test
