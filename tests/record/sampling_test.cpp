// SPDX-License-Identifier: MIT
#include "record/sampling.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <set>

namespace heapwright::record {
namespace {

constexpr std::uint64_t mean_bytes = 4096;

class Sampling : public ::testing::Test {
 protected:
  void SetUp() override {
    static const bool is_ready = prepare_sampling(mean_bytes);
    ASSERT_TRUE(is_ready);
    thread_.random_state = 42;
  }
  ThreadRecorder thread_{};
};

// The weight 1 / (1 - exp(-size / mean)) must bring back the true count; five
// standard deviations of a binomial keep a correct sampler green.
TEST_F(Sampling, TakesBlocksWithTheDocumentedProbability) {
  constexpr int trials = 400'000;
  for (const std::size_t size : {16U, 500U, 4096U, 20'000U}) {
    int taken = 0;
    for (int i = 0; i < trials; ++i) taken += take_sample(thread_, size) ? 1 : 0;
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
      if (!take_sample(thread_, size)) continue;
      const auto weight = static_cast<double>(thread_.sample_weight_bytes);
      EXPECT_GE(thread_.sample_weight_bytes, mean_bytes);
      EXPECT_LE(thread_.sample_weight_bytes, mean_bytes + size);
      sum += weight;
      squares += weight * weight;
    }
    const double mean = sum / trials;
    const double deviation = std::sqrt((squares / trials - mean * mean) / trials);
    EXPECT_NEAR(mean, static_cast<double>(size), 5.0 * deviation + 1.0) << "size " << size;
  }
}

TEST_F(Sampling, TakesEveryBlockFarAboveTheMean) {
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(take_sample(thread_, std::size_t{1} << 40));
  EXPECT_TRUE(take_sample(thread_, SIZE_MAX));
}

// What is never taken could not be estimated: 0 bytes count as 1.
TEST_F(Sampling, TakesEmptyBlocksLikeThoseOfOneByte) {
  int taken = 0;
  for (int i = 0; i < 100 * static_cast<int>(mean_bytes); ++i) taken += take_sample(thread_, 0) ? 1 : 0;
  EXPECT_NEAR(taken, 100, 60);
}

TEST_F(Sampling, RemembersAndForgetsEachBlockOnce) {
  std::set<std::uintptr_t> blocks;
  for (std::uintptr_t i = 1; i <= 10'000; ++i) {
    const std::uintptr_t address = 0x7f0000000000 + i * 48;
    if (remember_sample(reinterpret_cast<void*>(address))) blocks.insert(address);
  }
  EXPECT_GT(blocks.size(), 9'990U);
  EXPECT_FALSE(forget_sample(reinterpret_cast<void*>(0x5500000000)));
  for (const std::uintptr_t address : blocks) EXPECT_TRUE(may_be_sampled(reinterpret_cast<void*>(address)));
  for (const std::uintptr_t address : blocks) {
    EXPECT_TRUE(forget_sample(reinterpret_cast<void*>(address)));
    EXPECT_FALSE(forget_sample(reinterpret_cast<void*>(address)));
  }
  // Releases are told by one byte again, a refused block's included.
  for (const std::uintptr_t address : blocks) EXPECT_FALSE(may_be_sampled(reinterpret_cast<void*>(address)));
}

}  // namespace
}  // namespace heapwright::record
