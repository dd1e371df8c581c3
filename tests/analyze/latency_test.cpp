// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "analyze/histogram.hpp"
#include "memory_trace.hpp"

namespace heapwright::analyze {
namespace {

TEST(HistogramBuckets, AreAtMostAnEighthWide) {
  EXPECT_EQ(bucket_of(0), 0U);
  EXPECT_EQ(bucket_of(7), 7U);
  EXPECT_EQ(bucket_of(8), 8U);
  for (std::size_t bucket = 0; bucket + 1 < bucket_of(UINT64_MAX); ++bucket) {
    const auto from = lower_bound_of(bucket);
    const auto to = lower_bound_of(bucket + 1);
    ASSERT_EQ(bucket_of(from), bucket);
    ASSERT_EQ(bucket_of(to - 1), bucket);
    ASSERT_LE(static_cast<double>(to - from), std::max(1.0, static_cast<double>(from) / 8));
  }
  EXPECT_LT(bucket_of(UINT64_MAX), buckets_used);
}

TEST(Latency, PercentilesAgreeWithASortedReference) {
  MemoryTrace trace;
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> durations(5, 1.5);
  std::vector<std::uint64_t> sorted;
  std::uint64_t now = 0;
  for (int call = 0; call < 20000; ++call) {
    const auto duration = static_cast<std::uint32_t>(durations(random)) & ~3U;
    trace.malloc(0, now, 0x1000 + static_cast<std::uint64_t>(call) * 64, 40, 1, duration);
    sorted.push_back(duration);
    now += (duration + 31U) & ~15U;
  }
  std::sort(sorted.begin(), sorted.end());
  const auto facts = facts_of(trace);
  const auto expect_near = [&](std::uint64_t found, double share) {
    const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size()))) - 1;
    const auto exact = static_cast<double>(sorted[rank]);
    EXPECT_NEAR(static_cast<double>(found), exact, std::max(4.0, exact * 0.0625)) << share;
  };
  for (const auto& latency : {facts.allocation_latency, facts.by_kind.at(0).latency, facts.site_latency[1],
                              facts.by_size.at(0).allocation_latency}) {
    EXPECT_EQ(latency.calls, 20000U);
    EXPECT_EQ(latency.max_ns, sorted.back());
    expect_near(latency.p50_ns, 0.5);
    expect_near(latency.p90_ns, 0.9);
    expect_near(latency.p99_ns, 0.99);
    expect_near(latency.p999_ns, 0.999);
    expect_near(latency.p9999_ns, 0.9999);
  }
}

// 100 calls of 256 to 287 ns are one bucket: the median lies in its middle, not at either end.
TEST(Latency, APercentileIsInterpolatedWithinItsBucket) {
  MemoryTrace trace;
  for (std::uint64_t call = 0; call < 100; ++call) {
    trace.malloc(0, call * 1600, 0x1000 + call * 64, 40, 1, static_cast<std::uint32_t>(256 + call % 8 * 4));
  }
  trace.malloc(0, 160'000, 0x9000, 40, 1, 4000);
  const auto facts = facts_of(trace);
  ASSERT_EQ(bucket_of(256), bucket_of(287));
  ASSERT_NE(bucket_of(256), bucket_of(288));
  EXPECT_NEAR(static_cast<double>(facts.allocation_latency.p50_ns), 271, 2);
  EXPECT_NEAR(static_cast<double>(facts.allocation_latency.p90_ns), 284, 2);
  EXPECT_LE(facts.allocation_latency.p9999_ns, 4000U) << "no percentile exceeds the maximum";
}

TEST(Latency, ReleasesBelongToTheirBlocksClassAndSite) {
  MemoryTrace trace;
  trace.malloc(0, 1600, 0x1000, 100, 1);
  trace.malloc(0, 3200, 0x2000, 5000, 2);
  trace.free(0, 4800, 0x1000, 40);
  trace.free(0, 6400, 0x2000, 400);
  const auto facts = facts_of(trace);
  EXPECT_EQ(facts.by_size.front().release_latency.sum_ns, 40U);
  EXPECT_EQ(facts.by_size.back().release_latency.sum_ns, 400U);
  EXPECT_EQ(facts.sites[1].release_ns, 40U);
  EXPECT_EQ(facts.sites[2].release_ns, 400U);
  EXPECT_EQ(facts.release_latency.calls, 2U);
  EXPECT_EQ(facts.release_latency.sum_ns, 440U);
}

TEST(Slowest, AreTheLongestWithTheirBlocks) {
  MemoryTrace trace;
  for (std::uint64_t call = 0; call < 100; ++call) {
    trace.malloc(0, call * 16000, 0x1000 + call * 64, 24, 1, static_cast<std::uint32_t>(call * 4));
  }
  trace.free(0, 1'616'000, 0x1000, 5000);
  Options options;
  options.slowest_calls = 3;
  const auto facts = facts_of(trace, options);
  ASSERT_EQ(facts.slowest.size(), 3U);
  EXPECT_EQ(facts.slowest[0].duration_ns, 5000U);
  EXPECT_EQ(facts.slowest[0].kind, trace::EventKind::free_);
  EXPECT_EQ(facts.slowest[0].size_bytes, 24U);
  EXPECT_EQ(facts.slowest[0].stack, 1U) << "the allocation's, since frees have none";
  EXPECT_EQ(facts.slowest[1].duration_ns, 396U);
  EXPECT_EQ(facts.slowest[2].duration_ns, 392U);
}

TEST(Slowest, ASlowFreesOwnStackIsToldFromItsBlocks) {
  for (const std::uint32_t duration_ns : {5'000U, 30'000U}) {  // without and with a cause
    MemoryTrace trace;
    trace.malloc(0, 0, 0x1000, 24, 3);
    trace.add(0, {trace::EventKind::free_, 1'600, duration_ns, 0, 0, 0x1000, 0, 5, 0, {}});
    const auto facts = facts_of(trace);
    EXPECT_EQ(facts.slowest[0].stack, 5U);
    EXPECT_EQ(facts.slowest[0].block_stack, 3U);
    EXPECT_EQ(facts.slowest[1].block_stack, 0U) << "an allocation";
  }
}

TEST(Sizes, CommonSizesAreExactAndASitesPercentilesClose) {
  MemoryTrace trace;
  std::uint64_t now = 0;
  const auto add = [&](std::uint64_t size, int times) {
    for (int time = 0; time < times; ++time) {
      now += 160;
      trace.malloc(0, now, 0x1000 + now, size, 1);
    }
  };
  add(24, 5);
  add(1'000'000, 4);
  add(1'000'001, 2);
  add(25, 3);
  const auto facts = facts_of(trace);
  ASSERT_EQ(facts.common_sizes.size(), 4U);
  using SizeAndCalls = std::pair<std::uint64_t, std::uint64_t>;
  const auto size_and_calls = [&](std::size_t index) {
    return SizeAndCalls(facts.common_sizes[index].size_bytes, facts.common_sizes[index].allocations);
  };
  EXPECT_EQ(size_and_calls(0), SizeAndCalls(24, 5));
  EXPECT_EQ(size_and_calls(1), SizeAndCalls(1'000'000, 4));
  EXPECT_EQ(size_and_calls(3), SizeAndCalls(1'000'001, 2));
  const auto& site = facts.site_sizes[1];
  EXPECT_EQ(site.min_bytes, 24U);
  EXPECT_EQ(site.p50_bytes, 25U) << "within a bucket of two sizes";
  EXPECT_NEAR(static_cast<double>(site.p90_bytes), 1e6, 62'500);
  EXPECT_EQ(site.max_bytes, 1'000'001U);
  EXPECT_EQ(facts.by_size.back().bytes, 4'000'000U + 2'000'002U);
}

// Room for two octaves: what falls into others is in no percentile, and said to be in none.
TEST(SiteHistogramsRoom, WhatFindsNoRoomIsCounted) {
  MemoryTrace trace;
  std::uint64_t now = 0;
  const auto allocate = [&](std::uint32_t stack, std::uint64_t size, int calls) {
    for (int call = 0; call < calls; ++call) {
      now += 100;
      trace.malloc(0, now, 0x1000 + now * 64, size, stack, 20);
    }
  };
  allocate(1, 24, 50);
  allocate(2, 1000, 30);
  allocate(2, 8, 7);
  allocate(3, 24, 5);
  for (const std::size_t counts : {std::size_t{16}, std::size_t{1000}}) {
    const auto facts = facts_of(trace, {}, {.workers = 0, .histogram_counts = counts});
    const bool is_cut = counts == 16;
    const auto& sizes = facts.site_sizes;
    EXPECT_EQ(sizes[1].counted + sizes[2].counted + sizes[3].counted + facts.totals.sizes_left_out, 92U);
    EXPECT_EQ(facts.totals.sizes_left_out != 0, is_cut);
    EXPECT_EQ(facts.totals.latencies_left_out, is_cut ? 5U : 0U) << "one duration: an octave for each site";
    EXPECT_EQ(facts.site_sizes[2].min_bytes, 8U) << "of all calls";
    EXPECT_EQ(facts.site_sizes[3].max_bytes, 24U);
    EXPECT_EQ(facts.site_latency[3].calls, is_cut ? 0U : 5U);
    EXPECT_EQ(facts.site_latency[3].max_ns, 20U);
  }
}

// A buffer grows 16, 32, ... The final sizes are those of all blocks less those that gave way: with
// some of either left out, sizes in between would pass for final.
TEST(SiteHistogramsRoom, FinalSizesOfGrowthTakeAllSizes) {
  MemoryTrace trace;
  std::uint64_t now = 0;
  for (std::uint64_t buffer = 0; buffer < 10; ++buffer) {
    for (std::uint64_t step = 0; step < 8; ++step) {
      const auto place = 0x10000 * (step + 1);
      trace.malloc(0, now += 100, place, std::uint64_t{16} << step, 1);
      if (step != 0) trace.free(0, now += 100, place - 0x10000);
    }
    trace.free(0, now += 100, 0x80000);
  }
  const auto whole = facts_of(trace);
  ASSERT_EQ(whole.copied_growths.size(), 1U);
  EXPECT_EQ(whole.copied_growths[0].chains, 10U);
  EXPECT_NEAR(static_cast<double>(whole.copied_growths[0].final_p50_bytes), 2048, 128);
  const auto cut = facts_of(trace, {}, {.workers = 0, .histogram_counts = 64});
  ASSERT_EQ(cut.copied_growths.size(), 1U);
  EXPECT_EQ(cut.copied_growths[0].steps, whole.copied_growths[0].steps);
  EXPECT_EQ(cut.copied_growths[0].chains, 0U) << "not told";
}

}  // namespace
}  // namespace heapwright::analyze
