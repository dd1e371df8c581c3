// SPDX-License-Identifier: MIT
#include "analyze/funnels.hpp"

#include <gtest/gtest.h>

namespace heapwright::analyze {
namespace {

// Stacks are added caller by caller; frames are made as they come.
class Tree {
 public:
  std::uint32_t frame(FrameKind kind) {
    kinds.push_back(kind);
    return static_cast<std::uint32_t>(kinds.size() - 1);
  }
  std::uint32_t call(std::uint32_t caller, std::uint32_t callee) {
    parents.push_back(caller);
    frames.push_back(callee);
    return static_cast<std::uint32_t>(frames.size() - 1);
  }
  // So many named functions, each of which calls `callees`, outermost first.
  void callers(std::size_t count, const std::vector<std::uint32_t>& callees) {
    for (std::size_t index = 0; index < count; ++index) {
      auto stack = call(0, frame(FrameKind::named));
      for (const auto callee : callees) {
        stack = call(stack, callee);
      }
    }
  }
  std::vector<std::uint32_t> funnels() const { return find_funnels(parents, frames, kinds); }

  std::vector<std::uint32_t> parents{0};
  std::vector<std::uint32_t> frames{0};
  std::vector<FrameKind> kinds;
};

using Frames = std::vector<std::uint32_t>;

TEST(Funnels, AFrameWithoutANameThatManyCallIsOne) {
  Tree tree;
  const auto plumbing = tree.frame(FrameKind::skipped);
  const auto wrapper = tree.frame(FrameKind::unnamed);
  const auto known = tree.frame(FrameKind::named);
  tree.callers(funnel_callers, {wrapper, plumbing});
  tree.callers(funnel_callers, {known, plumbing});
  EXPECT_EQ(tree.funnels(), Frames{wrapper});
}

TEST(Funnels, AFrameNamedAfterAllocatingNeedsFewerCallers) {
  Tree tree;
  const auto wrapper = tree.frame(FrameKind::allocating);
  const auto seldom = tree.frame(FrameKind::allocating);
  const auto unnamed = tree.frame(FrameKind::unnamed);
  tree.callers(allocating_callers, {wrapper});
  tree.callers(allocating_callers - 1, {seldom});
  tree.callers(allocating_callers, {unnamed});
  EXPECT_EQ(tree.funnels(), Frames{wrapper});
}

TEST(Funnels, FewCallersAreNotEnoughHoweverManyStacks) {
  Tree tree;
  const auto wrapper = tree.frame(FrameKind::unnamed);
  tree.callers(funnel_callers - 1, {wrapper});
  const auto again = tree.call(0, tree.frames[1]);
  tree.call(again, wrapper);
  EXPECT_EQ(tree.funnels(), Frames{});
}

TEST(Funnels, WhatIsSkippedIsLookedThrough) {
  Tree tree;
  const auto plumbing = tree.frame(FrameKind::skipped);
  const auto wrapper = tree.frame(FrameKind::unnamed);
  const std::uint32_t mark = 0xfffffff0;
  tree.callers(funnel_callers, {plumbing, mark, wrapper, plumbing});
  EXPECT_EQ(tree.funnels(), Frames{wrapper});
}

TEST(Funnels, WrappersOfWrappersAreFound) {
  Tree tree;
  const auto inner = tree.frame(FrameKind::unnamed);
  const auto outer = tree.frame(FrameKind::unnamed);
  tree.callers(funnel_callers, {inner});
  tree.callers(funnel_callers, {outer, inner});
  EXPECT_EQ(tree.funnels(), (Frames{inner, outer}));
}

TEST(Funnels, OnlyWhereStacksEndCounts) {
  Tree tree;
  const auto way = tree.frame(FrameKind::unnamed);
  const auto leaf = tree.frame(FrameKind::named);
  tree.callers(funnel_callers, {way, leaf});
  EXPECT_EQ(tree.funnels(), Frames{});
  EXPECT_EQ(Tree().funnels(), Frames{});
}

}  // namespace
}  // namespace heapwright::analyze
