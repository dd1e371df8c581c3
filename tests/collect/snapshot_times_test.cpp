// SPDX-License-Identifier: MIT
#include "collect/snapshot_times.hpp"

#include <gtest/gtest.h>

namespace heapwright::collect::test {
namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;
constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20U;

}  // namespace

TEST(SnapshotTimes, ComeAtRegularTimesAndAreNotMadeUpFor) {
  SnapshotWishes wishes;
  wishes.every_ns = 10 * second_ns;
  SnapshotTimes times(wishes, 5 * second_ns);
  EXPECT_FALSE(times.is_due(15 * second_ns - 1, 0));
  EXPECT_TRUE(times.is_due(15 * second_ns, 0));
  times.note(46 * second_ns, 0, 0);
  EXPECT_FALSE(times.is_due(46 * second_ns, 0));
  EXPECT_FALSE(times.is_due(55 * second_ns - 1, 0));
  EXPECT_TRUE(times.is_due(55 * second_ns, 0));
}

TEST(SnapshotTimes, ComeOnceWheneverMemoryGetsAbove) {
  SnapshotWishes wishes;
  wishes.above_bytes = 100 * mebibyte;
  SnapshotTimes times(wishes, 0);
  EXPECT_FALSE(times.is_due(1, 99 * mebibyte));
  EXPECT_TRUE(times.is_due(2, 100 * mebibyte));
  EXPECT_FALSE(times.is_due(3, 120 * mebibyte));
  EXPECT_FALSE(times.is_due(4, 95 * mebibyte)) << "a little below";
  EXPECT_FALSE(times.is_due(5, 101 * mebibyte)) << "is still the same time";
  EXPECT_FALSE(times.is_due(6, 80 * mebibyte));
  EXPECT_TRUE(times.is_due(7, 101 * mebibyte));
}

TEST(SnapshotTimes, FollowThePeakAndCostLittle) {
  SnapshotWishes wishes;
  wishes.at_peak = true;
  SnapshotTimes times(wishes, 0);
  EXPECT_FALSE(times.is_due(1, mebibyte)) << "too small to matter";
  EXPECT_TRUE(times.is_due(2, 8 * mebibyte));
  times.note(second_ns, 8 * mebibyte, second_ns / 100);
  EXPECT_FALSE(times.is_due(2 * second_ns, 8 * mebibyte + mebibyte / 2)) << "little more";
  EXPECT_TRUE(times.is_due(2 * second_ns, 9 * mebibyte));
  EXPECT_FALSE(times.is_due(second_ns + second_ns / 4, 90 * mebibyte)) << "it stood still just now";
  EXPECT_FALSE(times.is_due(3 * second_ns, 8 * mebibyte)) << "lower than before";
}

}  // namespace heapwright::collect::test
