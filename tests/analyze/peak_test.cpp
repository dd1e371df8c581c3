// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "memory_trace.hpp"

namespace heapwright::analyze {
namespace {

TEST(Peak, IsExactAndNamesWhatLived) {
  MemoryTrace trace;
  trace.malloc(0, 1600, 0x1000, 100, 1);
  trace.malloc(0, 3200, 0x2000, 200, 2);
  trace.free(0, 4800, 0x1000);
  trace.malloc(0, 6400, 0x3000, 50, 3);
  const auto facts = facts_of(trace);
  EXPECT_EQ(facts.peak.time_ns, 3216U);
  EXPECT_EQ(facts.peak.live_bytes, 300U);
  EXPECT_EQ(facts.peak.live_usable_bytes, 316U);
  EXPECT_EQ(facts.peak.live_blocks, 2U);
  EXPECT_EQ(facts.sites[1].live_at_peak_bytes, 100U);
  EXPECT_EQ(facts.sites[1].live_at_end_bytes, 0U);
  EXPECT_EQ(facts.sites[2].live_at_peak_bytes, 200U);
  EXPECT_EQ(facts.sites[3].live_at_peak_bytes, 0U);
  EXPECT_EQ(facts.sites[3].live_at_end_bytes, 50U);
}

TEST(Peak, TheFirstOfEqualMaximaCounts) {
  MemoryTrace trace;
  trace.malloc(0, 1600, 0x1000, 100, 1);
  trace.free(0, 3200, 0x1000);
  trace.malloc(0, 4800, 0x1000, 100, 2);
  const auto facts = facts_of(trace);
  EXPECT_EQ(facts.peak.time_ns, 1616U);
  EXPECT_EQ(facts.sites[1].live_at_peak_bytes, 100U);
  EXPECT_EQ(facts.sites[2].live_at_peak_bytes, 0U);
}

// Within a quantum the release goes first: 100 bytes never lived twice.
TEST(Peak, TiesAcrossThreadsDoNotInventAPeak) {
  MemoryTrace trace;
  trace.malloc(1, 160, 0x1000, 100, 1);
  trace.malloc(0, 1600, 0x2000, 100, 2, 4);
  trace.free(1, 1600, 0x1000);
  EXPECT_EQ(facts_of(trace).peak.live_bytes, 100U);
}

TEST(Peak, BelongsToSizeClassesToo) {
  MemoryTrace trace;
  trace.malloc(0, 1600, 0x1000, 24);
  trace.malloc(0, 3200, 0x2000, 31);
  trace.malloc(0, 4800, 0x3000, 32);
  trace.free(0, 6400, 0x1000);
  const auto facts = facts_of(trace);
  ASSERT_EQ(facts.by_size.size(), 2U);
  EXPECT_EQ(facts.by_size[0].from_bytes, 16U);
  EXPECT_EQ(facts.by_size[0].to_bytes, 31U);
  EXPECT_EQ(facts.by_size[0].allocations, 2U);
  EXPECT_EQ(facts.by_size[0].bytes, 55U);
  EXPECT_EQ(facts.by_size[0].overhead_bytes, 16U);
  EXPECT_EQ(facts.by_size[0].live_at_peak_bytes, 55U);
  EXPECT_EQ(facts.by_size[1].live_at_peak_blocks, 1U);
}

TEST(Peak, OwnPeaksOfSitesThreadsAndStacksAreTheirOwn) {
  MemoryTrace trace;
  trace.malloc(0, 1600, 0x1000, 100, 1);
  trace.malloc(0, 3200, 0x2000, 100, 2);
  trace.free(0, 4800, 0x1000);
  trace.free(0, 6400, 0x2000);
  trace.malloc(1, 8000, 0x3000, 150, 3);
  Options options;
  options.site_of_stack = {0, 1, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  const auto facts = facts_of(trace, options);
  ASSERT_EQ(facts.sites.size(), 3U);
  EXPECT_EQ(facts.sites[1].own_peak_bytes, 200U);
  EXPECT_EQ(facts.sites[2].own_peak_bytes, 150U);
  EXPECT_EQ(facts.sites[1].allocations, 2U);
  EXPECT_EQ(facts.stacks[1].own_peak_bytes, 100U);
  EXPECT_EQ(facts.threads[0].peak_live_bytes, 200U);
  EXPECT_EQ(facts.threads[1].peak_live_bytes, 150U);
}

TEST(Peak, AStacksOwnPeakKnowsItsBlocksAndItsEndHowLongTheyLived) {
  MemoryTrace trace;
  trace.malloc(0, 1600, 0x1000, 10, 1);
  trace.malloc(0, 3200, 0x2000, 20, 1);
  trace.malloc(0, 4800, 0x3000, 30, 1);
  trace.free(0, 6400, 0x1000);
  trace.free(0, 8000, 0x3000);
  trace.malloc(0, 9600, 0x4000, 15, 1);
  trace.malloc(0, 11200, 0x5000, 70, 2);  // brief, and its stack's own peak
  trace.free(0, 12800, 0x5000);
  trace.malloc(0, 14400, 0x6000, 1, 3, 0);
  const auto facts = facts_of(trace);
  EXPECT_EQ(facts.stacks[1].own_peak_bytes, 60U);
  EXPECT_EQ(facts.stack_lives[1].own_peak_blocks, 3U);
  EXPECT_EQ(facts.stack_lives[2].own_peak_blocks, 1U);
  const auto end_ns = facts.timeline.back().time_ns;
  EXPECT_EQ(end_ns, 14400U);
  EXPECT_EQ(facts.stack_lives[1].live_at_end_ns, facts.stacks[1].live_at_end_blocks * end_ns - 3216 - 9616);
  EXPECT_EQ(facts.stack_lives[2].live_at_end_ns, 0U);
}

TEST(Timeline, ShowsStateAtTheEndOfEachStep) {
  MemoryTrace trace;
  trace.malloc(0, 0, 0x1000, 100, 1, 0);
  trace.malloc(0, 480, 0x2000, 50, 1, 0);
  trace.free(0, 496, 0x2000, 0);
  trace.malloc(0, 992, 0x3000, 7, 1, 0);
  trace.free(0, 1600, 0x1000, 0);
  trace.samples = {{640, 4096, 1, 0, 0, 3}, {1200, 8192, 2, 5, 9, 4, 6, 7}};
  Options options;
  options.timeline_points = 4;
  const auto facts = facts_of(trace, options);
  ASSERT_EQ(facts.timeline.size(), 4U);
  EXPECT_EQ(facts.timeline[0].time_ns, 400U);
  EXPECT_EQ(facts.timeline[0].live_bytes, 100U);
  EXPECT_EQ(facts.timeline[0].allocations, 1U);
  EXPECT_EQ(facts.timeline[0].resident_bytes, 0U);
  EXPECT_EQ(facts.timeline[1].live_bytes, 100U);
  EXPECT_EQ(facts.timeline[1].highest_live_bytes, 150U);
  EXPECT_EQ(facts.timeline[1].usable_at_highest_bytes, 166U) << "at the same moment: 8 bytes more a block";
  EXPECT_EQ(facts.timeline[1].resident_file_bytes, 1U);
  EXPECT_EQ(facts.timeline[2].resident_file_bytes, 2U);
  EXPECT_EQ(facts.timeline[2].resident_shared_bytes, 4U);
  EXPECT_EQ(facts.timeline[2].recorder_bytes, 9U);
  EXPECT_EQ(facts.timeline[2].swapped_bytes, 5U);
  EXPECT_EQ(facts.timeline[2].page_table_bytes, 6U);
  EXPECT_EQ(facts.timeline[2].cgroup_charge_bytes, 7U);
  EXPECT_EQ(facts.timeline[1].allocations, 1U);
  EXPECT_EQ(facts.timeline[1].releases, 1U);
  EXPECT_EQ(facts.timeline[1].resident_bytes, 4096U);
  EXPECT_EQ(facts.timeline[2].live_bytes, 107U);
  EXPECT_EQ(facts.timeline[2].resident_bytes, 8192U);
  EXPECT_EQ(facts.timeline[3].live_bytes, 7U);
  EXPECT_EQ(facts.timeline[3].live_usable_bytes, 15U);
  EXPECT_EQ(facts.timeline[3].live_blocks, 1U);
  EXPECT_EQ(facts.timeline[3].releases, 1U);
}

TEST(Timeline, MayHaveNoPointsAtAll) {
  MemoryTrace trace;
  trace.malloc(0, 0, 0x1000, 100);
  Options options;
  options.timeline_points = 0;
  EXPECT_TRUE(facts_of(trace, options).timeline.empty());
}

}  // namespace
}  // namespace heapwright::analyze
