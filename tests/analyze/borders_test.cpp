// SPDX-License-Identifier: MIT
// Where one quantum, step, rank or window ends and the next begins.
#include <gtest/gtest.h>

#include "analyze/slowest.hpp"
#include "analyze/timeline.hpp"
#include "memory_trace.hpp"

namespace heapwright::analyze {
namespace {

TEST(Borders, WhatWentWrongBeforeTheWindowIsNotCountedInIt) {
  MemoryTrace trace;
  trace.free(0, 1600, 0x9000);
  trace.malloc(0, 3200, 0x1000, 100);
  trace.add(0, {trace::EventKind::free_sized_, 4800, 16, 96, 0, 0x1000, 0, 0, 0});
  trace.malloc(0, 6400, 0x2000, 100);
  trace.malloc(0, 8000, 0x2000, 100);
  trace.malloc(0, 20000, 0x3000, 10);
  auto facts = facts_of(trace);
  EXPECT_EQ(facts.totals.unknown_releases, 1U);
  EXPECT_EQ(facts.totals.size_mismatches, 1U);
  EXPECT_EQ(facts.totals.reused_live_addresses, 1U);
  Options options;
  options.from_ns = 16000;
  facts = facts_of(trace, options);
  EXPECT_EQ(facts.totals.unknown_releases, 0U);
  EXPECT_EQ(facts.totals.size_mismatches, 0U);
  EXPECT_EQ(facts.totals.reused_live_addresses, 0U);
}

TEST(Borders, APeakAtTheWindowsBeginHasItsUsableBytes) {
  MemoryTrace trace;
  trace.malloc(0, 1600, 0x1000, 100);
  trace.free(0, 16000, 0x1000);
  Options options;
  options.from_ns = 8000;
  const auto facts = facts_of(trace, options);
  EXPECT_EQ(facts.peak.live_bytes, 100U);
  EXPECT_EQ(facts.peak.live_usable_bytes, 108U);
  EXPECT_EQ(facts.peak.live_blocks, 1U);
}

TEST(Borders, ARunGoesOnToTheEndOfItsProcess) {
  MemoryTrace trace;
  trace.malloc(0, 1600, 0x1000, 100);
  trace.malloc(0, 3200, 0x2000, 100);
  trace.end_record.time_ns = 64'000;
  const auto facts = facts_of(trace);
  EXPECT_EQ(facts.totals.span_ns, 64'000U - 1600U);
  ASSERT_FALSE(facts.timeline.empty());
  EXPECT_EQ(facts.timeline.back().time_ns, 64'000U);
  EXPECT_EQ(facts.timeline.back().live_bytes, 200U);

  Options options;
  options.to_ns = 16'000;
  EXPECT_EQ(facts_of(trace, options).totals.span_ns, 16'000U - 1600U);
  trace.end_record = {trace::EndReason::missing, 0, 0, 0, 0, 0};
  EXPECT_LT(facts_of(trace).totals.span_ns, 16'000U) << "it is not known when the process ended";
}

// A thread's own calls are in order, so its free belongs to the block it got
// last, however close the two blocks are.
TEST(Borders, AThreadsOwnReleaseIsNeverLate) {
  MemoryTrace trace;
  trace.malloc(0, 160, 0x1000, 10, 1, 4);
  trace.malloc(0, 1600, 0x1000, 20, 2, 4);
  trace.free(0, 1616, 0x1000, 4);
  const auto facts = facts_of(trace);
  EXPECT_EQ(facts.totals.reused_live_addresses, 1U);
  EXPECT_EQ(facts.stacks[1].freed, 0U);
  EXPECT_EQ(facts.stacks[2].freed, 1U);
  EXPECT_EQ(facts.stacks[2].live_at_end_blocks, 0U);
}

TEST(Borders, ReleasesComeFirstWithinAQuantumWhicheverThread) {
  for (const std::uint32_t allocating : {0U, 1U}) {
    MemoryTrace trace;
    const std::uint32_t freeing = 1 - allocating;
    trace.malloc(freeing, 160, 0x1000, 100, 1, 4);
    trace.malloc(allocating, 1600, 0x2000, 100, 2, 4);
    trace.free(freeing, 1600, 0x1000, 4);
    EXPECT_EQ(facts_of(trace).peak.live_bytes, 100U) << allocating;
  }
}

TEST(Borders, APercentileIsTheCallThatSoManyDoNotExceed) {
  MemoryTrace trace;
  trace.malloc(0, 16000, 0x1000, 24, 1, 16);
  trace.malloc(0, 32000, 0x2000, 24, 1, 800);
  trace.malloc(0, 64000, 0x3000, 24, 1, 16000);
  const auto facts = facts_of(trace);
  EXPECT_GE(facts.allocation_latency.p50_ns, 750U);
  EXPECT_LE(facts.allocation_latency.p50_ns, 850U);
}

TEST(Borders, OfEquallySlowCallsTheFirstIsKept) {
  Slowest slowest(1);
  slowest.add({1600, 100, trace::EventKind::malloc_, 0, 1, 8});
  slowest.add({3200, 100, trace::EventKind::malloc_, 0, 2, 8});
  ASSERT_EQ(slowest.finish().size(), 1U);
  EXPECT_EQ(slowest.finish()[0].begin_ns, 1600U);
}

TEST(Borders, AStepEndsWhereTheNextBegins) {
  for (const std::uint64_t span : {7ULL, 1000ULL, 4096ULL, 999'999'937ULL}) {
    for (const std::uint32_t points : {1U, 3U, 7U, 512U}) {
      const TimeSteps steps(160, 160 + span, points);
      for (std::uint32_t step = 0; step + 1 < points && points <= span; ++step) {
        ASSERT_EQ(steps.step_of(steps.end_of(step)), step + 1) << span << " in " << points;
        ASSERT_EQ(steps.step_of(steps.end_of(step) - 1), step) << span << " in " << points;
      }
    }
  }
}

}  // namespace
}  // namespace heapwright::analyze
