// SPDX-License-Identifier: MIT
#include "replay/clocked_calls.hpp"

#include <gtest/gtest.h>

#include <array>

namespace heapwright::replay {
namespace {

TEST(ClockedCalls, AreAllOfAShortPlan) {
  ClockedCalls clocked(ClockedCalls::all_of, 3);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(clocked.next());
}

TEST(ClockedCalls, AreOneInEightOfALongPlanWhateverItRepeats) {
  constexpr int calls = 240'000;
  for (std::uint32_t lane = 0; lane < 4; ++lane) {
    ClockedCalls clocked(ClockedCalls::all_of + 1, lane);
    ClockedCalls again(ClockedCalls::all_of + 1, lane);
    std::array<int, 12> by_place{};  // in a program that repeats twelve calls
    for (int i = 0; i < calls; ++i) {
      const bool is_clocked = clocked.next();
      ASSERT_EQ(is_clocked, again.next());
      by_place[static_cast<std::size_t>(i) % by_place.size()] += is_clocked ? 1 : 0;
    }
    for (const int count : by_place) EXPECT_NEAR(count, calls / 12 / 8, 250);
  }
}

}  // namespace
}  // namespace heapwright::replay
