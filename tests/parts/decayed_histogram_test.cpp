// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstdint>
#include <heapwright/detail/decayed_histogram.hpp>

namespace {

// Of many small samples and then `large` large ones: whether these weigh more.
bool is_outweighed_by(std::uint32_t large, std::uint32_t half_life) {
  heapwright::detail::decayed_histogram sizes(half_life);
  for (std::uint32_t i = 0; i < 64 * half_life; ++i) sizes.add(1);
  for (std::uint32_t i = 0; i < large; ++i) sizes.add(1000);
  return sizes.percentile(50) >= 1000;
}

// 2^-0.9 of the weight is more than half of it, 2^-1.1 is less: also beyond the
// moment at which all weights are divided.
TEST(DecayedHistogram, ASampleWeighsHalfAsMuchAfterTheHalfLife) {
  for (const std::uint32_t half_life : {20U, 128U, 200U, 2048U}) {
    EXPECT_FALSE(is_outweighed_by(half_life * 9 / 10, half_life)) << half_life;
    EXPECT_TRUE(is_outweighed_by(half_life * 11 / 10, half_life)) << half_life;
  }
}

}  // namespace
