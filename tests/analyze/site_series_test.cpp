// SPDX-License-Identifier: MIT
#include "analyze/site_series.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "memory_trace.hpp"
#include "random_trace.hpp"

namespace heapwright::analyze {
namespace {

// The moments of one site, none when it has no row.
std::vector<SiteMoment> course_of(const Facts& facts, std::uint32_t site) {
  const auto bins = static_cast<std::ptrdiff_t>(facts.series_end_ns.size());
  for (std::size_t row = 0; row < facts.series_rows.size(); ++row) {
    if (facts.series_rows[row].site == site) {
      const auto begin = facts.series_moments.begin() + static_cast<std::ptrdiff_t>(row) * bins;
      return {begin, begin + bins};
    }
  }
  return {};
}

std::vector<std::uint64_t> bytes_of(const std::vector<SiteMoment>& moments) {
  std::vector<std::uint64_t> bytes;
  for (const auto& moment : moments) {
    bytes.push_back(moment.live_bytes);
  }
  return bytes;
}

// Whether a call of realloc is under way, or just begins or ends.
bool is_in_realloc(const MemoryTrace& trace, std::uint64_t time_ns) {
  return std::any_of(trace.calls().begin(), trace.calls().end(), [&](const auto& of_thread) {
    return std::any_of(of_thread.second.begin(), of_thread.second.end(), [&](const Call& call) {
      return call.old_address != 0 && call.begin_ns <= time_ns && time_ns <= call.begin_ns + call.duration_ns;
    });
  });
}

TEST(SiteSeries, WhatASiteHoldsAtTheEndOfEachBin) {
  MemoryTrace trace;
  trace.malloc(0, 0, 0x1000, 20, 1, 0);
  trace.malloc(0, 20'000, 0x2000, 20, 2, 0);
  trace.malloc(0, 33'000, 0x3000, 30, 1, 0);
  trace.free(0, 64'000, 0x1000);
  Options options;
  options.timeline_points = 4;
  const auto facts = facts_of(trace, options);
  EXPECT_EQ(facts.series_end_ns.size(), 4U);
  EXPECT_EQ(bytes_of(course_of(facts, 1)), (std::vector<std::uint64_t>{20, 20, 50, 30}));
  EXPECT_EQ(bytes_of(course_of(facts, 2)), (std::vector<std::uint64_t>{0, 20, 20, 20}));
  EXPECT_EQ(course_of(facts, 1)[2].live_blocks, 2U);
}

TEST(SiteSeries, BinsAreWholeStepsOfTheTimeline) {
  MemoryTrace trace;
  trace.malloc(0, 0, 0x1000, 20, 1, 0);
  trace.malloc(0, 60'000, 0x2000, 20, 1, 0);
  trace.free(0, 64'000, 0x1000);
  for (const std::uint32_t points : {1U, 255U, 256U, 257U, 512U, 1000U}) {
    Options options;
    options.timeline_points = points;
    const auto facts = facts_of(trace, options);
    const auto& ends = facts.series_end_ns;
    EXPECT_LE(ends.size(), SiteSeries::most_bins);
    EXPECT_GT(ends.size() * 2, std::min(points, SiteSeries::most_bins));
    EXPECT_EQ(ends.back(), facts.timeline.back().time_ns);
    EXPECT_EQ(course_of(facts, 1).back().live_bytes, 20U) << points;
  }
}

// Which differential_test.cpp holds against the slow model.
TEST(SiteSeries, SumsOfAllSitesAreTheTimeline) {
  std::size_t compared = 0;
  for (std::uint64_t seed = 1; seed < 30; ++seed) {
    RandomTrace random(seed, 3, 400);
    Options options;
    options.timeline_points = 64;
    for (std::uint32_t stack = 0; stack < random.trace.stacks && seed % 2 == 0; ++stack) {
      options.site_of_stack.push_back(stack / 2);
    }
    const auto facts = facts_of(random.trace, options);
    std::vector<SiteMoment> sums(facts.timeline.size());
    for (std::size_t index = 0; index < facts.series_moments.size(); ++index) {
      auto& sum = sums[index % sums.size()];
      sum.live_bytes += facts.series_moments[index].live_bytes;
      sum.live_usable_bytes += facts.series_moments[index].live_usable_bytes;
      sum.live_blocks += facts.series_moments[index].live_blocks;
    }
    for (std::size_t step = 0; step < sums.size(); ++step) {
      const auto& point = facts.timeline[step];
      if (is_in_realloc(random.trace, point.time_ns)) {
        EXPECT_GE(sums[step].live_bytes, point.live_bytes);
        continue;
      }
      ++compared;
      EXPECT_EQ(sums[step].live_bytes, point.live_bytes) << "seed " << seed << " step " << step;
      EXPECT_EQ(sums[step].live_usable_bytes, point.live_usable_bytes);
      EXPECT_EQ(sums[step].live_blocks, point.live_blocks);
    }
    for (const auto& row : facts.series_rows) {
      EXPECT_EQ(course_of(facts, row.site).back().live_bytes, facts.sites[row.site].live_at_end_bytes);
    }
  }
  EXPECT_GT(compared, 500U);
}

// A buffer that grows all the time is held all the time.
TEST(SiteSeries, ABlockThatIsReallocatedIsHeld) {
  MemoryTrace trace;
  trace.malloc(0, 0, 0x1000, 20, 1, 0);
  trace.realloc(0, 10'000, 0x1000, 0x2000, 40, 1, 10'000);  // over the end of the first of four bins
  trace.malloc(0, 63'000, 0x3000, 1, 2, 0);
  trace.free(0, 64'000, 0x3000);
  Options options;
  options.timeline_points = 4;
  const auto facts = facts_of(trace, options);
  EXPECT_EQ(bytes_of(course_of(facts, 1)), (std::vector<std::uint64_t>{20, 40, 40, 40}));
  EXPECT_EQ(course_of(facts, 1)[0].live_blocks, 1U);
  EXPECT_EQ(course_of(facts, 1)[0].live_usable_bytes, 28U);
}

TEST(SiteSeries, RowsGoToTheSitesThatHoldMost) {
  const TimeSteps steps(0, 4, 4);
  const Options options;
  const SiteMap map(options, 4);
  SiteLives lives(map);
  SiteSeries series(steps, map.site_count(), 2);
  lives.add_block(0, 100, 1, 0, 1);
  lives.add_block(1, 10, 1, 0, 1);
  series.close_steps(1, lives);
  lives.add_block(2, 5, 1, 0, 1);  // less than either
  series.close_steps(2, lives);
  lives.add_block(3, 50, 1, 6, 1);
  series.close_steps(3, lives);
  lives.remove_block(0, 100, 1, 0, 1);
  Facts facts;
  series.finish(lives, facts);
  ASSERT_EQ(facts.series_rows.size(), 2U);
  EXPECT_EQ(bytes_of(course_of(facts, 0)), (std::vector<std::uint64_t>{100, 100, 100, 0}));
  EXPECT_EQ(bytes_of(course_of(facts, 3)), (std::vector<std::uint64_t>{0, 0, 50, 50}));
  EXPECT_EQ(course_of(facts, 3)[2].live_usable_bytes, 56U);
  EXPECT_EQ(facts.series_rows[1].site, 3U);
  EXPECT_EQ(facts.series_rows[1].first_bin, 2U) << "what it held before is not known";
  EXPECT_EQ(facts.series_rows[0].first_bin, 0U);
}

TEST(SiteSeries, AWindowBeginsWithWhatLived) {
  MemoryTrace trace;
  trace.malloc(0, 0, 0x1000, 20, 1, 0);
  trace.malloc(0, 16'000, 0x2000, 30, 1, 0);
  trace.free(0, 64'000, 0x1000);
  Options options;
  options.timeline_points = 4;
  options.from_ns = 8'000;
  options.to_ns = 48'000;
  const auto facts = facts_of(trace, options);
  EXPECT_EQ(bytes_of(course_of(facts, 1)), (std::vector<std::uint64_t>{50, 50, 50, 50}));
}

}  // namespace
}  // namespace heapwright::analyze
