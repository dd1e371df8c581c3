// SPDX-License-Identifier: MIT
#include "order/schedule.hpp"

#include <gtest/gtest.h>

namespace heapwright::order {
namespace {

trace::EventChunk chunk(std::uint32_t thread, std::uint32_t count, std::uint64_t first_ns,
                        std::uint64_t last_ns) {
  trace::EventChunk made;
  made.thread = thread;
  made.count = count;
  made.first_begin_ns = first_ns;
  made.last_end_ns = last_ns;
  return made;
}

TEST(Schedule, DecodesChunksByTheirFirstBegin) {
  const std::vector chunks{chunk(7, 10, 300, 400), chunk(4'000'000'000, 10, 100, 200),
                           chunk(7, 10, 200, 250)};
  const auto schedule = make_schedule(chunks, UINT64_MAX);
  ASSERT_EQ(schedule.jobs.size(), 3U);
  EXPECT_EQ(schedule.jobs[0].chunk, &chunks[1]);
  EXPECT_EQ(schedule.jobs[1].chunk, &chunks[2]);
  EXPECT_EQ(schedule.jobs[2].chunk, &chunks[0]);
  EXPECT_EQ(schedule.thread_of_lane, (std::vector<std::uint32_t>{7, 4'000'000'000}));
  EXPECT_EQ(schedule.jobs[0].lane, 1U);
  EXPECT_EQ(schedule.jobs[2].lane, 0U);
  EXPECT_EQ(schedule.events, 30U);
}

TEST(Schedule, KeepsTheSequenceOfChunksThatBeginTogether) {
  const std::vector chunks{chunk(1, 1, 100, 100), chunk(1, 2, 100, 100), chunk(1, 3, 100, 100)};
  const auto schedule = make_schedule(chunks, UINT64_MAX);
  ASSERT_EQ(schedule.jobs.size(), 3U);
  EXPECT_EQ(schedule.jobs[0].chunk, &chunks[0]);
  EXPECT_EQ(schedule.jobs[2].chunk, &chunks[2]);
}

TEST(Schedule, LeavesOutWhatBeginsAtTheEndOrHasNoEvents) {
  const std::vector chunks{chunk(1, 5, 0, 90), chunk(1, 5, 100, 190), chunk(2, 0, 10, 20)};
  const auto schedule = make_schedule(chunks, 100);
  EXPECT_EQ(schedule.jobs.size(), 1U);
  EXPECT_EQ(schedule.events, 5U);
  EXPECT_EQ(schedule.thread_of_lane.size(), 1U);
}

TEST(Schedule, TheWidestMomentHoldsChunksThatTouch) {
  const std::vector chunks{chunk(1, 100, 0, 50), chunk(2, 200, 50, 90), chunk(3, 400, 91, 95)};
  const auto schedule = make_schedule(chunks, UINT64_MAX);
  EXPECT_EQ(schedule.widest_events, 400U);
  EXPECT_EQ(schedule.widest_chunks, 2U);
}

TEST(Schedule, SlicesShareTheBudgetAndAreNeverTiny) {
  const std::vector chunks{chunk(1, 10'000, 0, 50), chunk(2, 10'000, 10, 90)};
  const auto schedule = make_schedule(chunks, UINT64_MAX);
  EXPECT_EQ(schedule.slice_events(20'000 * 32, 32), UINT32_MAX);  // all fits: whole chunks
  EXPECT_EQ(schedule.slice_events(10'000 * 32, 32), 5'000U);
  EXPECT_EQ(schedule.slice_events(0, 32), 256U);
}

}  // namespace
}  // namespace heapwright::order
