// SPDX-License-Identifier: MIT
#include "analyze/processor.hpp"

#include <gtest/gtest.h>

#include "memory_trace.hpp"

namespace heapwright::analyze {
namespace {

MemoryTrace sampled_trace() {
  MemoryTrace trace;
  trace.end_record.time_ns = 1'000'000;
  trace.malloc(0, 1000, 0x10000, 100);
  trace.processor_records = {{0, 5'000, 1'000, 100, 0, 0, 0, 0, 0},
                             {400'000, 105'000, 21'000, 300, 2, 150, 15'000, 40, 4'000},
                             {1'000'000, 305'000, 61'000, 900, 8, 450, 45'000, 240, 24'000}};
  return trace;
}

TEST(Processor, IsWhatWasUsedSinceTheBase) {
  auto trace = sampled_trace();
  const auto processor = facts_of(trace).processor;
  EXPECT_TRUE(processor.is_known);
  EXPECT_EQ(processor.cpu_ns, 300'000U);
  EXPECT_EQ(processor.system_ns, 60'000U);
  EXPECT_EQ(processor.minor_faults, 800U);
  EXPECT_EQ(processor.major_faults, 8U);
  EXPECT_EQ(processor.seen_faults, 450U);
  EXPECT_EQ(processor.refaults, 240U);
  EXPECT_EQ(processor.refault_ns, 24'000U);
}

TEST(Processor, OfAWindowIsInterpolated) {
  auto trace = sampled_trace();
  Options options;
  options.from_ns = 200'000;
  options.to_ns = 700'000;
  const auto processor = facts_of(trace, options).processor;
  EXPECT_EQ(processor.cpu_ns, 50'000U + 100'000U);
  EXPECT_EQ(processor.minor_faults, 100U + 300U);
}

TEST(Processor, PausesAreLeftOut) {
  auto trace = sampled_trace();
  trace.switch_records = {{200'000, false}, {700'000, true}};
  EXPECT_EQ(facts_of(trace).processor.cpu_ns, 50'000U + 100'000U);
}

TEST(Processor, IsNotKnownOfAnOlderTrace) {
  auto trace = sampled_trace();
  trace.processor_records.clear();
  const auto processor = facts_of(trace).processor;
  EXPECT_FALSE(processor.is_known);
  EXPECT_EQ(processor.cpu_ns, 0U);
}

TEST(Processor, OfADamagedTraceOnlyRisingSamplesCount) {
  auto trace = sampled_trace();
  trace.processor_records.insert(trace.processor_records.begin() + 2, {500'000, 1, 1, 1, 1, 1, 1, 1, 1});
  EXPECT_EQ(facts_of(trace).processor.cpu_ns, 300'000U);
}

}  // namespace
}  // namespace heapwright::analyze
