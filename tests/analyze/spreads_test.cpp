// SPDX-License-Identifier: MIT
// Estimates from samples, held against programs that are known: the sampling
// is simulated by the recorder's rule, many times over.
#include "analyze/spreads.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "memory_trace.hpp"

namespace heapwright::analyze {
namespace {

constexpr std::uint64_t mean_bytes = 4096;

// One seed that never changes, and one that is told when the test fails.
std::vector<std::uint64_t> seeds() { return {20261122, std::random_device{}()}; }

struct Block {
  std::uint64_t size;
  std::uint32_t stack;
  bool is_freed;
};

// What an exact recording of the blocks says.
struct Truth {
  double blocks = 0;
  double bytes = 0;
  double live_blocks = 0;
  double live_bytes = 0;
};

Truth truth_of(const std::vector<Block>& program, std::uint32_t stack) {
  Truth truth;
  for (const auto& block : program) {
    if (block.stack != stack) continue;
    truth.blocks += 1;
    truth.bytes += static_cast<double>(block.size);
    truth.live_blocks += block.is_freed ? 0 : 1;
    truth.live_bytes += block.is_freed ? 0 : static_cast<double>(block.size);
  }
  return truth;
}

Facts sampled(const std::vector<Block>& program, std::mt19937_64& random) {
  MemoryTrace trace;
  trace.metadata_record.sample_mean_bytes = mean_bytes;
  std::uniform_real_distribution<double> dice;
  std::uint64_t now = 160;
  for (std::size_t number = 0; number < program.size(); ++number) {
    const auto& block = program[number];
    const auto chance = -std::expm1(-static_cast<double>(block.size) / mean_bytes);
    if (dice(random) >= chance) continue;
    trace.malloc(0, now, 0x10000 + number * 64, block.size, block.stack);
    now += 160;
    if (block.is_freed) trace.free(0, now, 0x10000 + number * 64);
    now += 160;
  }
  return facts_of(trace);
}

// Weights of 1.1 to 1.6: rounded to whole numbers they lose, or win, up to half.
TEST(SampledFacts, SizesNearTheMeanAreNotRounded) {
  for (const std::uint64_t size : {2048U, 3000U, 4096U, 6000U, 9000U}) {
    std::vector<Block> program(3000, {size, 1, false});
    for (const auto seed : seeds()) {
      std::mt19937_64 random(seed);
      double sum = 0;
      constexpr int runs = 20;
      for (int run = 0; run < runs; ++run) {
        sum += static_cast<double>(sampled(program, random).sites[1].allocations);
      }
      EXPECT_NEAR(sum / runs, 3000, 50) << "size " << size << ", seed " << seed;
    }
  }
}

TEST(SampledFacts, AWeightIsTheInverseOfTheChance) {
  const SamplingWeight weight(mean_bytes);
  for (const std::uint64_t size : {1U, 16U, 500U, 4096U, 6000U, 40'000U}) {
    const auto chance = -std::expm1(-static_cast<double>(size) / mean_bytes);
    const auto units = static_cast<double>(SamplingWeight::units_of_one);
    EXPECT_NEAR(static_cast<double>(weight.of(size)) / units * chance, 1, 2e-4) << size;
    EXPECT_NEAR(weight.variance_term(size) * chance * chance / (1 - chance), 1, 1e-6) << size;
  }
  EXPECT_EQ(weight.of(0), weight.of(1));
  EXPECT_EQ(SamplingWeight(0).of(10), 1U);
  EXPECT_EQ(SamplingWeight(0).variance_term(10), 0);
}

// The variance that is estimated from one recording is, on average, the one
// that the estimates of many recordings have.
TEST(SampledFacts, TheVarianceIsTheOneThatEstimatesHave) {
  std::vector<Block> program;
  for (int number = 0; number < 2000; ++number) {
    program.push_back({static_cast<std::uint64_t>(16 + number * 7 % 9000), 1, number % 3 != 0});
  }
  const auto truth = truth_of(program, 1);
  for (const auto seed : seeds()) {
    std::mt19937_64 random(seed);
    constexpr int runs = 400;
    struct Figure {
      double squares = 0;
      double variances = 0;
      void add(double estimate, double exact, double variance) {
        squares += (estimate - exact) * (estimate - exact);
        variances += variance;
      }
    };
    Figure blocks, bytes, live_blocks, live_bytes;
    for (int run = 0; run < runs; ++run) {
      const auto facts = sampled(program, random);
      const auto& site = facts.sites[1];
      const auto& calls = facts.spreads->site_calls[1];
      const auto& live = facts.spreads->site_live[1];
      blocks.add(static_cast<double>(site.allocations), truth.blocks, calls.allocations.variance);
      bytes.add(static_cast<double>(site.bytes), truth.bytes, calls.bytes.variance);
      live_blocks.add(static_cast<double>(site.live_at_end_blocks), truth.live_blocks,
                      live.end_blocks.variance);
      live_bytes.add(static_cast<double>(site.live_at_end_bytes), truth.live_bytes, live.end_bytes.variance);
    }
    // The empirical variance of 400 runs is itself off by 7 % (one standard deviation).
    for (const auto* figure : {&blocks, &bytes, &live_blocks, &live_bytes}) {
      EXPECT_NEAR(figure->squares / figure->variances, 1, 0.45) << "seed " << seed;
    }
  }
}

TEST(SampledFacts, TotalsAreTheSumsOfSitesThreadsAndClasses) {
  std::vector<Block> program;
  for (int number = 0; number < 3000; ++number) {
    program.push_back({static_cast<std::uint64_t>(1 + number * 13 % 7000),
                       static_cast<std::uint32_t>(1 + number % 3), number % 2 == 0});
  }
  std::mt19937_64 random(7);
  const auto facts = sampled(program, random);
  const auto& total = facts.spreads->total_calls.bytes.variance;
  const auto sum = [](const auto& rows, const auto& of) {
    double variance = 0;
    for (const auto& row : rows) variance += of(row).variance;
    return variance;
  };
  const auto bytes = [](const CallSpread& row) { return row.bytes; };
  const auto peak_bytes = [](const LiveSpread& row) { return row.peak_bytes; };
  EXPECT_GT(total, 0);
  EXPECT_NEAR(sum(facts.spreads->site_calls, bytes) / total, 1, 1e-9);
  EXPECT_NEAR(sum(facts.spreads->class_calls, bytes) / total, 1, 1e-9);
  EXPECT_NEAR(sum(facts.spreads->thread_calls, bytes) / total, 1, 1e-9);
  const auto& live = facts.spreads->total_live.peak_bytes.variance;
  EXPECT_NEAR(sum(facts.spreads->class_live, peak_bytes) / live, 1, 1e-6);
  double allocations = 0;
  for (const auto& step : facts.spreads->steps) allocations += step.allocations;
  EXPECT_NEAR(allocations / facts.spreads->total_calls.allocations.variance, 1, 1e-9);
  EXPECT_NEAR(facts.spreads->steps.back().live_bytes / facts.spreads->total_live.end_bytes.variance, 1, 1e-6);
}

TEST(SampledFacts, ThePeaksSpreadIsOfWhatLivedThen) {
  MemoryTrace trace;
  trace.metadata_record.sample_mean_bytes = mean_bytes;
  trace.malloc(0, 160, 0x1000, 3000, 1);
  trace.malloc(0, 320, 0x2000, 2000, 2);
  trace.free(0, 480, 0x2000);
  trace.malloc(0, 640, 0x3000, 10, 3);
  const SamplingWeight weight(mean_bytes);
  const auto facts = facts_of(trace);
  EXPECT_DOUBLE_EQ(facts.spreads->site_live[1].peak_bytes.variance, weight.variance_term(3000) * 9e6);
  EXPECT_DOUBLE_EQ(facts.spreads->site_live[2].peak_bytes.variance, weight.variance_term(2000) * 4e6);
  EXPECT_DOUBLE_EQ(facts.spreads->site_live[3].peak_bytes.variance, 0);
  EXPECT_DOUBLE_EQ(facts.spreads->site_live[3].end_blocks.variance, weight.variance_term(10));
  EXPECT_DOUBLE_EQ(facts.spreads->site_live[2].end_blocks.variance, 0);
}

TEST(SampledFacts, WithoutSamplingThereIsNothingToEstimate) {
  MemoryTrace trace;
  trace.malloc(0, 160, 0x1000, 3000, 1);
  const auto facts = facts_of(trace);
  EXPECT_FALSE(facts.spreads.has_value());
}

}  // namespace
}  // namespace heapwright::analyze
