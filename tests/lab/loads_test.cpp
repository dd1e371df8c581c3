// SPDX-License-Identifier: MIT
#include "lab/loads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace heapwright::lab {
namespace {

constexpr int draws = 200'000;

std::map<std::uint64_t, int> histogram(double doubling_probability) {
  Random random(1);
  std::map<std::uint64_t, int> counts;
  for (int i = 0; i < draws; ++i) ++counts[doubling_size(random, doubling_probability)];
  return counts;
}

TEST(DoublingSize, FlatHalvesWithEachStep) {
  const auto counts = histogram(0.5);
  EXPECT_NEAR(counts.at(100), draws / 2, 2000);
  EXPECT_NEAR(counts.at(200), draws / 4, 1500);
  EXPECT_NEAR(counts.at(400), draws / 8, 1000);
  for (const auto& [size, count] : counts) {
    EXPECT_LE(size, std::uint64_t{1} << 20);
    EXPECT_TRUE(size % 100 == 0 && ((size / 100) & (size / 100 - 1)) == 0) << size;
  }
}

TEST(DoublingSize, SteepKeepsThreeQuartersAtTheStart) {
  const auto counts = histogram(0.25);
  EXPECT_NEAR(counts.at(100), draws * 3 / 4, 2000);
  EXPECT_NEAR(counts.at(200), draws * 3 / 16, 1500);
}

TEST(DoublingSize, EndsBelowOneMebibyte) {
  Random random(1);
  EXPECT_EQ(doubling_size(random, 1.0), 819'200u);
}

TEST(FragmentingSizes, CountsAreFixedBySize) {
  constexpr std::uint64_t class_bytes = 1 << 20;
  std::vector<std::uint32_t> sizes(fragmenting_slot_count(class_bytes));
  Random random(1);
  fill_fragmenting_sizes(sizes.data(), class_bytes, random);
  std::map<std::uint32_t, std::uint64_t> counts;
  for (const std::uint32_t size : sizes) ++counts[size];
  ASSERT_EQ(counts.size(), fragmenting_sizes.size());
  for (const std::uint32_t size : fragmenting_sizes) {
    EXPECT_EQ(counts.at(size), std::max<std::uint64_t>(1, class_bytes / size)) << size;
  }
}

TEST(FragmentingSizes, OrderDependsOnTheSeedAlone) {
  const auto order = [](std::uint64_t seed) {
    std::vector<std::uint32_t> sizes(fragmenting_slot_count(100'000));
    Random random(seed);
    fill_fragmenting_sizes(sizes.data(), 100'000, random);
    return sizes;
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}

TEST(MixedSize, SmallOnesAreMostFrequent) {
  Random random(1);
  int below_32 = 0;
  std::uint64_t largest = 0;
  for (int i = 0; i < draws; ++i) {
    const std::uint64_t size = mixed_size(random);
    ASSERT_GE(size, 16u);
    ASSERT_LE(size, 16'384u);
    below_32 += size < 32 ? 1 : 0;
    largest = std::max(largest, size);
  }
  EXPECT_NEAR(below_32, draws / 2, draws / 20);
  EXPECT_GT(largest, 8192u);
}

TEST(RetainedSize, FourFifthsAreBelow256Bytes) {
  Random random(1);
  int small = 0;
  double sum = 0;
  for (int i = 0; i < draws; ++i) {
    const std::uint64_t size = retained_size(random);
    ASSERT_GE(size, 16u);
    ASSERT_LE(size, 65'536u);
    small += size < 256 ? 1 : 0;
    sum += static_cast<double>(size);
  }
  EXPECT_NEAR(small, draws * 4 / 5, draws / 100);
  EXPECT_NEAR(sum / draws, 2463, 75);
}

TEST(CreepingCount, MeanIsOneAndAHalfAndTheMostIsAHundred) {
  const CreepingCount count;
  Random random(1);
  double sum = 0;
  int empty = 0;
  std::uint32_t most = 0;
  for (int i = 0; i < 10 * draws; ++i) {
    const std::uint32_t elements = count.draw(random);
    sum += elements;
    empty += elements == 0 ? 1 : 0;
    most = std::max(most, elements);
  }
  EXPECT_NEAR(sum / (10.0 * draws), 1.5, 0.03);
  EXPECT_NEAR(empty / (10.0 * draws), 0.527, 0.005);
  EXPECT_EQ(most, CreepingCount::max_count);
}

TEST(SmallVectorCount, HalfEmptyAndAlmostHalfSingle) {
  Random random(1);
  std::map<std::uint32_t, int> counts;
  for (int i = 0; i < draws; ++i) ++counts[small_vector_count(random)];
  EXPECT_NEAR(counts[0], draws / 2, 2000);
  EXPECT_NEAR(counts[1], draws * 49 / 100, 2000);
  EXPECT_EQ(counts.rbegin()->first, 8u);
}

TEST(Loads, SameSeedSameLoad) {
  Random a(9);
  Random b(9);
  const CreepingCount count;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(mixed_size(a), mixed_size(b));
    ASSERT_EQ(retained_size(a), retained_size(b));
    ASSERT_EQ(doubling_size(a, 0.5), doubling_size(b, 0.5));
    ASSERT_EQ(count.draw(a), count.draw(b));
    ASSERT_EQ(small_vector_count(a), small_vector_count(b));
  }
}

}  // namespace
}  // namespace heapwright::lab
