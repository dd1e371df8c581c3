// SPDX-License-Identifier: MIT
#include "collect/lost_in_copies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>

namespace heapwright::collect::test {
namespace {

// Blocks at these addresses, of which a variable leads to the first ones.
trace::HeapGraph copy_of(std::initializer_list<std::uint64_t> blocks, std::uint32_t held) {
  trace::HeapGraph graph;
  for (const std::uint64_t address : blocks) graph.nodes.push_back({address, 8, 0});
  graph.roots.push_back({trace::RootKind::data, 0, "/bin/one", "g_one"});
  const auto root = static_cast<std::uint32_t>(graph.nodes.size());
  for (std::uint32_t block = 0; block < held; ++block) graph.edges.emplace_back(root, block, 0, false);
  return graph;
}

std::vector<std::uint32_t> held_by_what_moves(const trace::HeapGraph& graph) {
  std::vector<std::uint32_t> found;
  for (const trace::GraphEdge& edge : graph.edges) {
    if (edge.from == graph.nodes.size() + 1) found.push_back(edge.to);
  }
  return found;
}

}  // namespace

TEST(LostInCopies, OneCopyIsEnoughWhereNothingIsLost) {
  LostInCopies lost;
  trace::HeapGraph copy = copy_of({16, 32}, 2);
  lost.add(copy);
  EXPECT_FALSE(lost.needs_another());
  EXPECT_EQ(copy.copies, 1U);
  EXPECT_EQ(copy.roots.back().kind, trace::RootKind::moving);
}

TEST(LostInCopies, WhatACopyHadAPointerToIsHeld) {
  LostInCopies lost;
  trace::HeapGraph first = copy_of({16, 32, 48, 64}, 2);
  lost.add(first);
  EXPECT_TRUE(lost.needs_another());
  EXPECT_TRUE(held_by_what_moves(first).empty());
  trace::HeapGraph second = copy_of({16, 32, 48, 64}, 1);
  lost.add(second);
  EXPECT_EQ(held_by_what_moves(second), std::vector<std::uint32_t>{1});
  EXPECT_EQ(second.missed_blocks, 0U);
  EXPECT_TRUE(lost.needs_another()) << "one alone may have nothing new by chance";
  trace::HeapGraph third = copy_of({16, 32, 48, 64}, 2);
  lost.add(third);
  EXPECT_FALSE(lost.needs_another());
}

TEST(LostInCopies, ThereIsAnotherAsLongAsOneHasMore) {
  LostInCopies lost;
  trace::HeapGraph first = copy_of({16, 32, 48, 64}, 1);
  lost.add(first);
  trace::HeapGraph second = copy_of({16, 32, 48}, 2);  // and the fourth was freed
  lost.add(second);
  EXPECT_EQ(second.missed_blocks, 2U);
  EXPECT_TRUE(lost.needs_another());
  trace::HeapGraph third = copy_of({16, 32, 48}, 2);
  lost.add(third);
  EXPECT_EQ(third.missed_blocks, 2U) << "in the last two";
  EXPECT_TRUE(lost.needs_another());
  trace::HeapGraph fourth = copy_of({16, 32, 48}, 2);
  lost.add(fourth);
  EXPECT_EQ(fourth.missed_blocks, 0U);
  EXPECT_EQ(fourth.copies, 4U);
  EXPECT_FALSE(lost.needs_another());
}

TEST(LostInCopies, ItEndsWhereMoreIsFoundForEver) {
  LostInCopies lost;
  std::uint64_t copies = 0;
  for (std::uint32_t held = 1; lost.needs_another() || copies == 0; ++held) {
    trace::HeapGraph copy = copy_of({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, held);
    lost.add(copy);
    copies = copy.copies;
  }
  EXPECT_EQ(copies, 10U);
}

}  // namespace heapwright::collect::test
