// SPDX-License-Identifier: MIT
#include "lab/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace heapwright::lab {
namespace {

TEST(Random, SameSeedSameNumbers) {
  Random a(7);
  Random b(7);
  Random other(8);
  int same = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t number = a.next();
    EXPECT_EQ(number, b.next());
    same += number == other.next() ? 1 : 0;
  }
  EXPECT_EQ(same, 0);
}

TEST(Random, BelowIsUniform) {
  Random random(1);
  std::array<int, 10> counts{};
  for (int i = 0; i < 100'000; ++i) ++counts[random.below(counts.size())];
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 400);
}

TEST(Random, BetweenReachesBothEnds) {
  Random random(1);
  std::array<int, 3> counts{};
  for (int i = 0; i < 300; ++i) ++counts[random.between(5, 7) - 5];
  for (const int count : counts) EXPECT_GT(count, 50);
}

TEST(Random, UnitStaysBelowOne) {
  Random random(3);
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double value = random.unit();
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    sum += value;
  }
  EXPECT_NEAR(sum / 100'000, 0.5, 0.005);
}

TEST(Shuffle, KeepsEveryValueAndMovesMost) {
  std::vector<int> values(1000);
  std::iota(values.begin(), values.end(), 0);
  Random random(5);
  shuffle(values, values.size(), random);
  int in_place = 0;
  for (int i = 0; i < 1000; ++i) in_place += values[static_cast<std::size_t>(i)] == i ? 1 : 0;
  EXPECT_LT(in_place, 20);
  std::sort(values.begin(), values.end());
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], i);
}

}  // namespace
}  // namespace heapwright::lab
