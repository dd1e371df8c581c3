// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "memory_trace.hpp"

namespace heapwright::analyze {
namespace {

MemoryTrace whole_trace() {
  MemoryTrace trace;
  trace.chunk_events = 2;
  for (std::uint64_t call = 0; call < 6; ++call) {
    trace.malloc(0, call * 1600, 0x1000 + call * 64, 10);
  }
  trace.thread_records = {{0, 100, "main", 0, 0, 6, 0, 250}};
  trace.seal();
  return trace;
}

TEST(Completeness, AWholeRecordingHasNoReasons) {
  auto trace = whole_trace();
  const auto facts = analyze(trace, {}, {});
  EXPECT_TRUE(facts.completeness.is_complete);
  EXPECT_TRUE(facts.completeness.reasons.empty());
  EXPECT_EQ(facts.recorder.waited_ns, 250U);
}

TEST(Completeness, MissingEndMarkIsToldFirst) {
  auto trace = whole_trace();
  trace.end_record.reason = trace::EndReason::missing;
  const auto facts = analyze(trace, {}, {});
  EXPECT_FALSE(facts.completeness.is_complete);
  ASSERT_EQ(facts.completeness.reasons.size(), 1U);
  EXPECT_NE(facts.completeness.reasons[0].find("end mark"), std::string::npos);
}

TEST(Completeness, OfAProgramThatRunsTheLastEventsAreWrittenLater) {
  auto trace = whole_trace();
  trace.end_record.reason = trace::EndReason::still_running;
  trace.thread_records[0].events = 20;
  EXPECT_TRUE(analyze(trace, {}, {}).completeness.is_complete);
  trace.chunks()[2].first_sequence = 14;
  EXPECT_EQ(analyze(trace, {}, {}).completeness.sequence_gaps, 10U) << "a hole is one all the same";
}

TEST(Completeness, DropsAreTheLargerOfTheTwoCounts) {
  auto trace = whole_trace();
  trace.end_record.dropped = 3;
  trace.thread_records[0].dropped = 5;
  const auto facts = analyze(trace, {}, {});
  EXPECT_FALSE(facts.completeness.is_complete);
  EXPECT_EQ(facts.completeness.dropped, 5U);
}

TEST(Completeness, GapsWithinAndAfterAThreadCount) {
  auto trace = whole_trace();
  trace.chunks()[1].first_sequence = 12;
  trace.chunks()[2].first_sequence = 14;
  trace.thread_records[0].events = 20;
  const auto facts = analyze(trace, {}, {});
  EXPECT_FALSE(facts.completeness.is_complete);
  EXPECT_EQ(facts.completeness.sequence_gaps, 10U + 4U);
}

TEST(Completeness, AnUnreadableChunkIsLeftOutAndNamed) {
  auto trace = whole_trace();
  trace.damaged_chunks = {1};
  const auto facts = analyze(trace, {}, {});
  EXPECT_FALSE(facts.completeness.is_complete);
  EXPECT_EQ(facts.totals.allocations, 4U);
  ASSERT_EQ(facts.completeness.reasons.size(), 2U);
  EXPECT_NE(facts.completeness.reasons[0].find("164"), std::string::npos);
  EXPECT_EQ(facts.completeness.reasons[1],
            std::to_string(trace.chunks()[1].count) + " events could not be read");
}

TEST(Completeness, ALongListOfDamageIsCutShort) {
  auto trace = whole_trace();
  trace.damage_records.assign(1000, {7, "bad"});
  EXPECT_LT(analyze(trace, {}, {}).completeness.reasons.size(), 20U);
}

TEST(Completeness, AFailedWriteIsAReasonAStopIsNone) {
  auto trace = whole_trace();
  trace.end_record = {trace::EndReason::write_failed, 28, 1, 6, 0, 0};
  EXPECT_FALSE(analyze(trace, {}, {}).completeness.is_complete);
  trace.end_record = {trace::EndReason::stopped, 0, 1, 6, 0, 0};
  EXPECT_TRUE(analyze(trace, {}, {}).completeness.is_complete);
}

TEST(RecorderCost, IsCallsTimesCostPerCall) {
  auto trace = whole_trace();
  trace.free(0, 100'000, 0x1000);
  trace.seal();
  trace.metadata_record.self_cost_allocation_ns = 50;
  trace.metadata_record.self_cost_release_ns = 20;
  trace.end_record.recorder_peak_bytes = 1000;
  trace.samples = {{1, 0, 0, 0, 3000}};
  const auto facts = analyze(trace, {}, {});
  EXPECT_EQ(facts.recorder.calls_ns, 6 * 50U + 20U);
  EXPECT_EQ(facts.recorder.peak_bytes, 3000U);
  EXPECT_EQ(facts.recorder.file_bytes, trace.file_bytes());
}

TEST(Progress, EndsAtTheNumberOfEvents) {
  auto trace = whole_trace();
  std::vector<std::pair<std::uint64_t, std::uint64_t>> calls;
  Options options;
  options.on_progress = [&](std::uint64_t done, std::uint64_t all) { calls.emplace_back(done, all); };
  analyze(trace, options, {});
  ASSERT_FALSE(calls.empty());
  EXPECT_EQ(calls.back(), (std::pair<std::uint64_t, std::uint64_t>{6, 6}));
}

TEST(Empty, ATraceWithoutEventsHasEmptyFacts) {
  MemoryTrace trace;
  trace.stacks = 0;
  const auto facts = facts_of(trace);
  EXPECT_EQ(facts.totals.events, 0U);
  EXPECT_EQ(facts.totals.span_ns, 0U);
  EXPECT_TRUE(facts.by_kind.empty());
  EXPECT_TRUE(facts.by_size.empty());
  EXPECT_TRUE(facts.lifetimes.blocks.empty());
  EXPECT_EQ(facts.timeline.size(), 512U);
}

}  // namespace
}  // namespace heapwright::analyze
