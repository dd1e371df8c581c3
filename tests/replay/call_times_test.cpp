// SPDX-License-Identifier: MIT
#include "replay/call_times.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace heapwright::replay {
namespace {

TEST(CallTimes, SharesAreWithinASixteenthOfTheSortedTimes) {
  std::mt19937_64 random(11);
  CallTimes times;
  std::vector<std::uint64_t> sorted;
  std::uint64_t sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const auto ticks = static_cast<std::uint64_t>(std::exp2(static_cast<double>(random() % 24'000) / 1000));
    times.add(ticks);
    sorted.push_back(ticks);
    sum += ticks;
  }
  std::sort(sorted.begin(), sorted.end());
  for (const double share : {0.001, 0.1, 0.5, 0.99, 0.999}) {
    const auto exact = static_cast<double>(sorted[static_cast<std::size_t>(share * 99'999)]);
    EXPECT_NEAR(times.at(share), exact, exact / 16 + 0.5) << share;
  }
  EXPECT_EQ(times.sum(), sum);
  EXPECT_EQ(times.most(), sorted.back());
}

TEST(CallTimes, SumsOfTwoAreThoseOfAll) {
  CallTimes few;
  CallTimes many;
  for (std::uint64_t i = 0; i < 10; ++i) few.add(1000);
  for (std::uint64_t i = 0; i < 90; ++i) many.add(10);
  few.add(many);
  EXPECT_EQ(few.calls(), 100u);
  EXPECT_EQ(few.sum(), 10'900u);
  EXPECT_EQ(few.at(0.5), 10);
  EXPECT_NEAR(few.at(0.95), 1000, 1000 / 16.0);
  EXPECT_EQ(few.most(), 1000u);
}

TEST(CallTimes, TheLongestTimeFits) {
  CallTimes times;
  times.add(UINT64_MAX);
  EXPECT_EQ(times.most(), UINT64_MAX);
  EXPECT_GT(times.at(1), 1e12);
}

}  // namespace
}  // namespace heapwright::replay
