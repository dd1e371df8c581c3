// SPDX-License-Identifier: MIT
// Kinds of lost nodes against their definition.
#include "graph/lost.hpp"

#include <gtest/gtest.h>

#include "random_graph.hpp"

namespace heapwright::graph::test {
namespace {

LostKind kind_by_definition(const std::vector<std::vector<bool>>& leads,
                            const std::vector<std::uint8_t>& is_lost, std::uint32_t node) {
  bool is_in_ring = false;
  for (std::uint32_t other = 0; other < is_lost.size(); ++other) {
    if (other == node || is_lost[other] == 0 || !leads[other][node]) continue;
    if (!leads[node][other]) return LostKind::owned;
    is_in_ring = true;
  }
  return is_in_ring ? LostKind::in_cycle : LostKind::directly;
}

}  // namespace

TEST(KindsOfLost, FollowFromWhoLeadsToWhomOnRandomGraphs) {
  std::mt19937 random(11);
  for (int round = 0; round < 2000; ++round) {
    RandomGraph made = random_graph(random);
    std::vector<std::uint8_t> is_lost(made.nodes);
    for (auto& one : is_lost) one = random() % 4 != 0 ? 1 : 0;
    const auto kinds = kinds_of_lost(Graph(made.nodes, made.edges), is_lost);
    // Paths over nodes that are not lost do not count.
    std::erase_if(made.edges,
                  [&](const Edge& edge) { return is_lost[edge.first] == 0 || is_lost[edge.second] == 0; });
    std::vector<std::vector<bool>> leads;
    for (std::uint32_t node = 0; node < made.nodes; ++node) leads.push_back(reached(made, node, none));
    for (std::uint32_t node = 0; node < made.nodes; ++node) {
      const LostKind expected =
          is_lost[node] != 0 ? kind_by_definition(leads, is_lost, node) : LostKind::not_lost;
      ASSERT_EQ(kinds[node], expected) << "round " << round << ", node " << node;
    }
  }
}

TEST(KindsOfLost, ABlockThatPointsToItselfIsLostDirectly) {
  const Graph made(2, std::vector<Edge>{{0, 0}, {0, 1}});
  const std::vector<std::uint8_t> all{1, 1};
  EXPECT_EQ(kinds_of_lost(made, all), (std::vector{LostKind::directly, LostKind::owned}));
}

}  // namespace heapwright::graph::test
