// SPDX-License-Identifier: MIT
#include "analyze/nested.hpp"

#include <gtest/gtest.h>

namespace heapwright::analyze {
namespace {

using Numbers = std::vector<std::uint32_t>;

// By frame: a function of the program, palloc and what it calls, each in the same library, and two of others.
constexpr std::uint32_t plumbing = 0, main_of = 1, palloc = 2, alloc_set = 3, of_other = 4, pool_get = 5,
                        inlined = 6;
const std::vector<NestedFrame> kinds{{0, 0, 0}, {0, 1, 1}, {1, 1, 0}, {0, 1, 1},
                                     {0, 0, 1}, {2, 0, 0}, {3, 0, 1}};

// One stack, outermost frame first: the function that its site calls, and its own stacks.
NestedStacks of_chain(const Numbers& chain) {
  Numbers parents{0};
  Numbers frames{0};
  for (const auto frame : chain) {
    parents.push_back(static_cast<std::uint32_t>(frames.size() - 1));
    frames.push_back(frame);
  }
  return nested_stacks(parents, frames, kinds);
}

std::uint32_t function_of(const Numbers& chain) { return of_chain(chain).function_of_stack.back(); }

TEST(Nested, TheSiteCallsTheOutermostFunction) {
  EXPECT_EQ(function_of({main_of, palloc}), 1U);
  EXPECT_EQ(function_of({main_of, plumbing, palloc, plumbing}), 1U);
  EXPECT_EQ(function_of({main_of, palloc, pool_get}), 1U);
  EXPECT_EQ(function_of({main_of, pool_get, palloc}), 2U);
  EXPECT_EQ(function_of({main_of, plumbing}), 0U);
}

TEST(Nested, CodeBelowItInItsLibraryIsItsOwn) {
  const auto found = of_chain({main_of, palloc, alloc_set});
  EXPECT_EQ(found.function_of_stack.back(), 1U);
  EXPECT_EQ(found.own_frames, Numbers{alloc_set});
  EXPECT_EQ(found.own_stacks, Numbers{}) << "a frame is enough";
  const auto both = of_chain({main_of, palloc, plumbing, alloc_set, main_of});
  EXPECT_EQ(both.own_frames, Numbers{alloc_set});
  EXPECT_EQ(both.own_stacks, Numbers{5}) << "main has a stack that is not";
  EXPECT_EQ(of_chain({main_of, alloc_set}).own_frames, Numbers{}) << "nobody called palloc";
}

TEST(Nested, CodeOfAnotherLibraryThatItCallsIsASite) {
  EXPECT_EQ(function_of({main_of, palloc, of_other}), 0U);
  const auto found = of_chain({main_of, palloc, of_other, alloc_set});
  EXPECT_EQ(found.function_of_stack.back(), 0U);
  EXPECT_EQ(found.own_frames, Numbers{}) << "called back";
  EXPECT_EQ(of_chain({main_of, pool_get, alloc_set}).own_frames, Numbers{}) << "nothing is its own";
}

TEST(Nested, AnInlinedFunctionIsOfItsOwnFrame) {
  EXPECT_EQ(function_of({main_of, palloc, inlined}), 3U);
  EXPECT_EQ(function_of({main_of, inlined, palloc}), 3U);
}

TEST(Nested, NonsenseIsNothing) {
  EXPECT_EQ(function_of({99, palloc}), 1U);
  EXPECT_EQ(nested_stacks(Numbers{0, 7}, Numbers{0, palloc}, kinds).function_of_stack, (Numbers{0, 1}));
  EXPECT_TRUE(nested_stacks({}, {}, kinds).function_of_stack.empty());
}

TEST(Nested, PassagesAreSumsOfPairs) {
  const Numbers sites{0, 1, 1, 1, 2, 2};
  const Numbers functions{0, 3, 3, 0, 4, 0};
  const std::vector<std::uint64_t> allocations{0, 5, 6, 7, 0, 0};
  const auto found = passages(sites, functions, allocations);
  ASSERT_EQ(found.size(), 5U);
  EXPECT_EQ(found[1].allocations, 7U);
  EXPECT_EQ(found[2].function, 3U);
  EXPECT_EQ(found[2].allocations, 11U);
  EXPECT_EQ(found[2].stacks, 0U);
  EXPECT_EQ(found[4].site, 2U);
  EXPECT_EQ(found[4].stacks, 1U);
}

}  // namespace
}  // namespace heapwright::analyze
