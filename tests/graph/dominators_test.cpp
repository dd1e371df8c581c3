// SPDX-License-Identifier: MIT
// Dominators and retained weights against their definition: what is no longer reached without a node.
#include "graph/dominators.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "random_graph.hpp"

namespace heapwright::graph::test {

TEST(Dominators, AreTheNodesThatAllPathsPassOnRandomGraphs) {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    const RandomGraph made = random_graph(random);
    const Dominators found = dominators_from(Graph(made.nodes, made.edges), 0);
    const std::vector<bool> all = reached(made, 0, none);
    std::vector<std::uint64_t> weights(made.nodes);
    for (auto& weight : weights) weight = random() % 100;
    const std::vector<std::uint64_t> sums = retained(found, weights);
    for (std::uint32_t node = 0; node < made.nodes; ++node) {
      ASSERT_EQ(found.of[node] != none, all[node]) << "round " << round;
      const std::vector<bool> left = reached(made, 0, node);
      std::uint64_t sum = 0;
      for (std::uint32_t other = 0; other < made.nodes; ++other) {
        const bool is_dominated = all[node] && all[other] && !left[other];
        sum += is_dominated ? weights[other] : 0;
        if (!is_dominated || other == node) continue;
        // Up the tree from `other`, `node` must come.
        std::uint32_t above = found.of[other];
        while (above != node && above != found.of[above]) above = found.of[above];
        ASSERT_EQ(above, node) << "round " << round << ", node " << other;
      }
      ASSERT_EQ(sums[node], all[node] ? sum : 0) << "round " << round << ", node " << node;
    }
  }
}

TEST(Dominators, ComeBeforeWhatTheyDominate) {
  const Graph made(5, std::vector<Edge>{{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}});
  const Dominators found = dominators_from(made, 0);
  EXPECT_EQ(found.of, (std::vector<std::uint32_t>{0, 0, 0, 0, 3}));
  EXPECT_EQ(found.order.front(), 0U);
  const auto place = [&](std::uint32_t node) {
    return std::find(found.order.begin(), found.order.end(), node);
  };
  EXPECT_LT(place(3), place(4));
}

TEST(Dominators, OfAListOfAMillionNeedNoDeepStack) {
  constexpr std::uint32_t nodes = 1'000'000;
  std::vector<Edge> edges;
  for (std::uint32_t node = 1; node < nodes; ++node) edges.emplace_back(node - 1, node);
  const Dominators found = dominators_from(Graph(nodes, edges), 0);
  const std::vector<std::uint64_t> ones(nodes, 1);
  EXPECT_EQ(retained(found, ones)[1], nodes - 1);
}

}  // namespace heapwright::graph::test
