// SPDX-License-Identifier: MIT
// Who holds what: sums worked out by hand.
#include "analyze/held.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "analyze/held_tree.hpp"

namespace heapwright::analyze {
namespace {

using trace::GraphEdge;
using trace::HeapGraph;
using trace::RootKind;

// Blocks of 10, 20, 30 … bytes, each of its own stack; roots as given.
HeapGraph blocks_held_by(std::uint32_t blocks, std::vector<trace::GraphRoot> roots) {
  HeapGraph graph;
  for (std::uint32_t i = 0; i < blocks; ++i)
    graph.nodes.push_back({0x1000 + i * 0x100ULL, 10 * (i + 1ULL), i + 1});
  graph.roots = std::move(roots);
  return graph;
}

void point(HeapGraph& graph, std::uint32_t from, std::uint32_t to, bool is_interior = false) {
  graph.edges.push_back({from, to, 0, is_interior});
}

}  // namespace

TEST(Held, BlocksOfASiteAreToldApartByTheirType) {
  HeapGraph graph = blocks_held_by(4, {{RootKind::data, 0, "/bin/one", "g_one"}});
  for (trace::GraphNode& node : graph.nodes) node.stack = 5;
  graph.types = {"Session"};
  graph.type_of = {1, 0, 1, 1};
  point(graph, 4, 0);
  point(graph, 4, 1);
  point(graph, 4, 2);
  const Held held = held_in(graph);
  ASSERT_EQ(held.held_sites.size(), 2U);
  EXPECT_EQ(held.held_sites[0].type, 1U);
  EXPECT_EQ(held.held_sites[0].bytes, 10U + 30U);
  EXPECT_EQ(held.held_sites[1].type, 0U);
  ASSERT_EQ(held.lost_sites.size(), 1U);
  EXPECT_EQ(held.lost_sites[0].type, 1U);
  ASSERT_EQ(held.live.size(), 2U);
  EXPECT_EQ(held.live[0].bytes, 10U + 30U + 40U) << "the lost one as well";
}

TEST(Held, ListsAndTablesAreKnownByTheirPointers) {
  HeapGraph graph = blocks_held_by(47, {{RootKind::data, 0, "/bin/one", "g_one"}});
  for (std::uint32_t i = 0; i < 47; ++i) {
    graph.nodes[i].stack = i < 2 ? 1 : i < 22 ? 2 : i < 37 ? 3 : 4;
    if (i >= 37) graph.nodes[i].size = 24;
  }
  for (std::uint32_t i = 2; i < 22; ++i) point(graph, 0, i);       // a table of 20
  for (std::uint32_t i = 22; i < 37; ++i) point(graph, 1, i);      // 15 are not many
  for (std::uint32_t i = 37; i < 46; ++i) point(graph, i, i + 1);  // a list of 10
  point(graph, 47, 0);
  point(graph, 47, 1);
  point(graph, 47, 37);
  const Held held = held_in(graph);
  for (const HeldSite& site : held.held_sites) {
    EXPECT_EQ(site.table_blocks, site.stack == 2 ? 20U : 0U) << site.stack;
    EXPECT_EQ(site.linked_blocks, site.stack == 4 ? 9U : 0U) << site.stack;
  }
  graph.types = {"Session"};
  graph.type_of.resize(47);
  graph.type_of[40] = 1;  // of the same size, and another type
  const auto sites = held_in(graph).held_sites;
  EXPECT_EQ(std::accumulate(sites.begin(), sites.end(), std::uint64_t{0},
                            [](std::uint64_t sum, const HeldSite& site) { return sum + site.linked_blocks; }),
            7U);
}

TEST(Held, AVariableRetainsWhatOnlyItLeadsTo) {
  HeapGraph graph =
      blocks_held_by(4, {{RootKind::data, 0, "/bin/one", "g_one"}, {RootKind::data, 0, "/bin/one", "g_two"}});
  point(graph, 0, 1);
  point(graph, 2, 3);
  point(graph, 4, 0);  // g_one: blocks 0 and 1
  point(graph, 4, 3);
  point(graph, 5, 2);  // g_two: block 2; block 3 is held by both
  const Held held = held_in(graph);
  EXPECT_EQ(held.lost_blocks, 0U);
  ASSERT_EQ(held.holders.size(), 2U);
  EXPECT_EQ(held.holders[0].symbol, "g_one");
  EXPECT_EQ(held.holders[0].bytes, 30U);
  EXPECT_EQ(held.holders[0].blocks, 2U);
  EXPECT_EQ(held.holders[1].bytes, 30U);
  EXPECT_EQ(held.holders[1].blocks, 1U);
  EXPECT_EQ(held.shared_bytes, 40U);
  EXPECT_EQ(held.held_sites.front().holder, 2U) << "several, behind the last holder";
  EXPECT_EQ(held.held_sites.front().stack, 4U);
}

TEST(Held, AStackHoldsOnlyWhatNothingElseDoes) {
  HeapGraph graph =
      blocks_held_by(2, {{RootKind::data, 0, "/bin/one", "g_one"}, {RootKind::stack, 7, "", ""}});
  point(graph, 2, 0);
  point(graph, 3, 0);
  point(graph, 3, 1);
  const Held held = held_in(graph);
  ASSERT_EQ(held.holders.size(), 2U);
  EXPECT_EQ(held.holders[0].kind, static_cast<std::uint32_t>(RootKind::stack));
  EXPECT_EQ(held.holders[0].thread_id, 7U);
  EXPECT_EQ(held.holders[0].bytes, 20U);
  EXPECT_EQ(held.holders[1].bytes, 10U);
  EXPECT_EQ(held.shared_bytes, 0U);
}

TEST(Held, WhatNothingLeadsToIsLost) {
  HeapGraph graph = blocks_held_by(6, {{RootKind::data, 0, "/bin/one", "g_one"}});
  point(graph, 1, 2);  // 1 is lost, and 2 with it
  point(graph, 3, 4);  // 3 and 4 are a ring
  point(graph, 4, 3);
  point(graph, 5, 0);  // 5 is lost; what it points to is held
  point(graph, 6, 0, true);
  const Held held = held_in(graph);
  EXPECT_EQ(held.lost_blocks, 5U);
  EXPECT_EQ(held.lost_bytes, 200U);
  EXPECT_EQ(held.interior_blocks, 0U) << "a lost block points to its begin";
  ASSERT_EQ(held.lost_sites.size(), 5U);
  EXPECT_EQ(held.lost_sites[0].stack, 6U);
  EXPECT_EQ(held.lost_sites[0].direct_bytes, 60U);
  EXPECT_EQ(held.lost_sites[1].stack, 5U);
  EXPECT_EQ(held.lost_sites[1].cycle_blocks, 1U);
  EXPECT_EQ(held.lost_sites[3].stack, 3U);
  EXPECT_EQ(held.lost_sites[3].direct_blocks + held.lost_sites[3].cycle_blocks, 0U) << "with its owner";
}

TEST(Held, SaysWhichBlocksOnlyPointersIntoThemReach) {
  HeapGraph graph = blocks_held_by(2, {{RootKind::data, 0, "/bin/one", ""}});
  point(graph, 2, 0, true);
  point(graph, 2, 1, true);
  point(graph, 2, 1);
  EXPECT_EQ(held_in(graph).interior_blocks, 1U);
  EXPECT_EQ(held_in(graph).interior_bytes, 10U);
}

TEST(Held, AnEmptyHeapHasNoHolder) {
  const Held held = held_in({});
  EXPECT_TRUE(held.is_known);
  EXPECT_EQ(held.blocks, 0U);
  EXPECT_TRUE(held.holders.empty());
}

TEST(Held, AWayIsTheShortestOne) {
  HeapGraph graph = blocks_held_by(
      4, {{RootKind::data, 0, "/bin/one", "g_long"}, {RootKind::data, 0, "/bin/one", "g_short"}});
  point(graph, 4, 0);
  point(graph, 0, 1);
  point(graph, 1, 3);
  point(graph, 5, 2);
  point(graph, 2, 3);  // both lead to it
  const Held held = held_in(graph);
  ASSERT_EQ(held.held_sites.front().stack, 4U);
  ASSERT_EQ(held.held_sites.front().holder, held.holders.size()) << "several";
  ASSERT_EQ(held.ways.size(), held.held_sites.size());
  EXPECT_EQ(held.ways.front().symbol, "g_short");
  std::vector<std::uint32_t> way;
  for (const HeldStep& step : held.steps) {
    if (step.held_site == 0) way.push_back(step.stack);
  }
  EXPECT_EQ(way, std::vector<std::uint32_t>{3});
}

TEST(HeldTree, HasAListOnceAndTheLostBesideTheHolders) {
  HeapGraph graph = blocks_held_by(6, {{RootKind::data, 0, "/bin/one", "g_one"}});
  point(graph, 6, 0);
  for (std::uint32_t i = 0; i < 4; ++i) point(graph, i, i + 1);
  // Stacks 1 to 6: nodes and texts of a list take turns, and the last block is lost.
  const std::vector<std::uint32_t> sites{0, 7, 8, 7, 8, 7, 9};
  const HeldTree tree = held_tree(graph, sites);
  EXPECT_EQ(tree.parent, (std::vector<std::uint64_t>{0, 0, 1, 2, 0, 4}));
  EXPECT_EQ(tree.is_site, (std::vector<std::uint64_t>{0, 0, 1, 1, 0, 1}));
  EXPECT_EQ(tree.what, (std::vector<std::uint64_t>{0, 0, 7, 8, HeldTree::lost, 9}));
  EXPECT_EQ(tree.blocks, (std::vector<std::uint64_t>{0, 0, 3, 2, 0, 1}));
  EXPECT_EQ(tree.bytes, (std::vector<std::uint64_t>{0, 0, 90, 60, 0, 60}));
}

TEST(HeldTree, SumsGoUpToTheHolder) {
  HeapGraph graph = blocks_held_by(4, {{RootKind::data, 0, "/bin/one", "g_one"}});
  point(graph, 4, 0);
  point(graph, 0, 1);
  point(graph, 1, 2);
  const GraphSums sums = sums_of(graph);
  EXPECT_EQ(sums.retained_bytes, (std::vector<std::uint64_t>{60, 50, 30, 0, 60}));
  EXPECT_EQ(sums.dominator, (std::vector<std::uint64_t>{4, 0, 1, no_dominator, 4}));
}

}  // namespace heapwright::analyze
