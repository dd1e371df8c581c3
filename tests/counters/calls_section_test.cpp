// SPDX-License-Identifier: MIT
#include "counters/calls_section.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace heapwright::counters {
namespace {

TEST(Bins, SmallValuesHaveOneEach) {
  for (std::uint64_t value = 0; value < 8; ++value) EXPECT_EQ(bin_of(value), value);
}

TEST(Bins, AnOctaveHasFour) {
  EXPECT_EQ(bin_of(8), 8U);
  EXPECT_EQ(bin_of(9), 8U);
  EXPECT_EQ(bin_of(10), 9U);
  EXPECT_EQ(bin_of(15), 11U);
  EXPECT_EQ(bin_of(16), 12U);
  EXPECT_EQ(bin_of(1024), 36U);
  EXPECT_EQ(bin_of(1279), 36U);
  EXPECT_EQ(bin_of(1280), 37U);
}

TEST(Bins, NeverGoBackAndLeaveNoneOut) {
  std::uint32_t last = 0;
  for (std::uint64_t value = 0; value < 1 << 16; ++value) {
    const std::uint32_t bin = bin_of(value);
    ASSERT_TRUE(bin == last || bin == last + 1) << value;
    last = bin;
  }
}

TEST(Bins, TheLastHoldsWhatIsLarger) {
  EXPECT_EQ(bin_of((1ULL << 41) - 1), bin_count - 1);
  EXPECT_EQ(bin_of(1ULL << 41), bin_count - 1);
  EXPECT_EQ(bin_of(UINT64_MAX), bin_count - 1);
  EXPECT_EQ(time_bin_of((1ULL << 35) - 1), time_bin_count - 1);
  EXPECT_EQ(time_bin_of(UINT64_MAX), time_bin_count - 1);
  EXPECT_EQ(lock_bin_of(UINT64_MAX), lock_bin_count - 1);
}

TEST(Bins, OfWaitsForLocksAreOctaves) {
  EXPECT_EQ(lock_bin_of(0), 0U);
  EXPECT_EQ(lock_bin_of(1), 0U);
  EXPECT_EQ(lock_bin_of(1023), 9U);
  EXPECT_EQ(lock_bin_of(1024), 10U);
}

}  // namespace
}  // namespace heapwright::counters
