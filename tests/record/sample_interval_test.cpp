// SPDX-License-Identifier: MIT
#include "record/sample_interval.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace heapwright::record {
namespace {

constexpr std::uint64_t mean_bytes = 4096;

class Sampling : public ::testing::Test {
 protected:
  bool takes(std::size_t size) { return take_sample(interval_, size, mean_bytes); }
  SampleInterval interval_{.bytes_left = 0, .random_state = 42, .weight_bytes = 0};
};

// The weight 1 / (1 - exp(-size / mean)) must bring back the true count; five
// standard deviations of a binomial keep a correct sampler green.
TEST_F(Sampling, TakesBlocksWithTheDocumentedProbability) {
  constexpr int trials = 400'000;
  for (const std::size_t size : {16U, 500U, 4096U, 20'000U}) {
    int taken = 0;
    for (int i = 0; i < trials; ++i) taken += takes(size) ? 1 : 0;
    const double probability = 1.0 - std::exp(-static_cast<double>(size) / mean_bytes);
    const double expected = trials * probability;
    const double deviation = std::sqrt(expected * (1.0 - probability));
    EXPECT_NEAR(taken, expected, 5.0 * deviation + 1.0) << "size " << size;
  }
}

// The probe's weight: over all blocks, those not taken included, it adds up to their bytes.
TEST_F(Sampling, WeighsWhatItTakesWithoutBias) {
  constexpr int trials = 400'000;
  for (const std::size_t size : {16U, 500U, 4096U, 20'000U}) {
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < trials; ++i) {
      if (!takes(size)) continue;
      const auto weight = static_cast<double>(interval_.weight_bytes);
      EXPECT_GE(interval_.weight_bytes, mean_bytes);
      EXPECT_LE(interval_.weight_bytes, mean_bytes + size);
      sum += weight;
      squares += weight * weight;
    }
    const double mean = sum / trials;
    const double deviation = std::sqrt((squares / trials - mean * mean) / trials);
    EXPECT_NEAR(mean, static_cast<double>(size), 5.0 * deviation + 1.0) << "size " << size;
  }
}

TEST_F(Sampling, TakesEveryBlockFarAboveTheMean) {
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(takes(std::size_t{1} << 40));
  EXPECT_TRUE(takes(SIZE_MAX));
}

// What is never taken could not be estimated: 0 bytes count as 1.
TEST_F(Sampling, TakesEmptyBlocksLikeThoseOfOneByte) {
  int taken = 0;
  for (int i = 0; i < 100 * static_cast<int>(mean_bytes); ++i) taken += takes(0) ? 1 : 0;
  EXPECT_NEAR(taken, 100, 60);
}

}  // namespace
}  // namespace heapwright::record
