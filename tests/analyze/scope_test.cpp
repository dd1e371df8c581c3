// SPDX-License-Identifier: MIT
// Filters and sampling weights: which calls count, and how much.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>

#include "memory_trace.hpp"

namespace heapwright::analyze {
namespace {

void add_two_sites(MemoryTrace& trace) {
  trace.malloc(0, 1600, 0x1000, 100, 1);
  trace.malloc(1, 3200, 0x2000, 1000, 2);
  trace.free(1, 4800, 0x1000, 40);
  trace.free(0, 6400, 0x2000, 80);
  trace.free(0, 8000, 0x9000);
  trace.free(1, 9600, 0);
}

TEST(Filters, SizeFollowsTheBlockToItsRelease) {
  MemoryTrace trace;
  add_two_sites(trace);
  Options options;
  options.min_size_bytes = 101;
  const auto facts = facts_of(trace, options);
  EXPECT_EQ(facts.totals.allocations, 1U);
  EXPECT_EQ(facts.totals.releases, 1U);
  EXPECT_EQ(facts.totals.events, 2U);
  EXPECT_EQ(facts.totals.unknown_releases, 0U);
  EXPECT_EQ(facts.totals.null_frees, 0U);
  EXPECT_EQ(facts.totals.allocator_ns, 96U);
  EXPECT_EQ(facts.peak.live_bytes, 1000U);
  EXPECT_EQ(facts.sites[1].allocations, 0U);
  EXPECT_EQ(facts.sites[2].freed, 1U);
  EXPECT_EQ(facts.release_latency.sum_ns, 80U);
}

TEST(Filters, ThreadMeansTheAllocatingThread) {
  MemoryTrace trace;
  add_two_sites(trace);
  Options options;
  options.thread_chosen = {1, 0};
  const auto facts = facts_of(trace, options);
  EXPECT_EQ(facts.totals.allocations, 1U);
  EXPECT_EQ(facts.totals.requested_bytes, 100U);
  EXPECT_EQ(facts.totals.releases, 2U) << "of its block, and its own of an unknown one";
  EXPECT_EQ(facts.totals.unknown_releases, 1U);
  EXPECT_EQ(facts.totals.null_frees, 0U);
  EXPECT_EQ(facts.sites[1].freed_by_other_thread, 1U);
  EXPECT_EQ(facts.sites[1].live_at_end_blocks, 0U);
}

TEST(Filters, StacksAreChosenByNumber) {
  MemoryTrace trace;
  add_two_sites(trace);
  Options options;
  options.site_of_stack.assign(16, 0);
  options.site_of_stack[2] = 1;
  options.stack_chosen = {0, 0, 1};
  const auto facts = facts_of(trace, options);
  EXPECT_EQ(facts.totals.requested_bytes, 1000U);
  EXPECT_EQ(facts.sites.size(), 2U);
  EXPECT_EQ(facts.sites[1].allocations, 1U);
  EXPECT_EQ(facts.sites[0].allocations, 0U);
}

TEST(Filters, ATimeRangeKnowsWhatLivedBefore) {
  MemoryTrace trace;
  trace.malloc(0, 1600, 0x1000, 100, 1);
  trace.malloc(0, 3200, 0x2000, 1000, 2);
  trace.free(0, 4800, 0x2000);
  trace.malloc(0, 16000, 0x3000, 10, 3);
  trace.free(0, 17600, 0x1000);
  trace.malloc(0, 32000, 0x4000, 5000, 4);
  Options options;
  options.from_ns = 8000;
  options.to_ns = 24000;
  const auto facts = facts_of(trace, options);
  EXPECT_EQ(facts.totals.events, 2U);
  EXPECT_EQ(facts.totals.allocations, 1U);
  EXPECT_EQ(facts.totals.releases, 1U);
  EXPECT_EQ(facts.totals.requested_bytes, 10U);
  EXPECT_EQ(facts.peak.live_bytes, 110U) << "1,100 was before, 5,000 comes after";
  EXPECT_EQ(facts.sites[1].live_at_peak_bytes, 100U);
  EXPECT_EQ(facts.sites[1].allocations, 0U);
  EXPECT_EQ(facts.sites[1].freed, 1U);
  EXPECT_EQ(facts.sites[2].freed, 0U);
  EXPECT_EQ(facts.sites[3].live_at_end_bytes, 10U);
  EXPECT_EQ(facts.sites[4].allocations, 0U);
  EXPECT_EQ(facts.totals.span_ns, 16000U);
}

TEST(Filters, OdditiesBeforeTheRangeAreNotCounted) {
  MemoryTrace trace;
  trace.malloc(0, 1600, 0x1000, 100, 1);
  trace.add(0, {trace::EventKind::delete_sized, 3200, 16, 96, 0, 0x1000, 0, 0, 0});  // wrong size
  trace.free(0, 4800, 0x7000);                                                       // unknown
  trace.malloc(0, 6400, 0x2000, 10, 1);
  trace.malloc(0, 8000, 0x2000, 10, 1);  // handed out twice
  trace.malloc(0, 16000, 0x3000, 10, 1);
  Options options;
  EXPECT_EQ(facts_of(trace, options).totals.size_mismatches, 1U);
  options.from_ns = 12800;
  const auto facts = facts_of(trace, options);
  EXPECT_EQ(facts.totals.size_mismatches, 0U);
  EXPECT_EQ(facts.totals.unknown_releases, 0U);
  EXPECT_EQ(facts.totals.reused_live_addresses, 0U);
  EXPECT_EQ(facts.totals.allocations, 1U);
}

TEST(Filters, APeakBeforeTheRangeIsNotThePeak) {
  MemoryTrace trace;
  trace.malloc(0, 1600, 0x1000, 100, 1);
  trace.free(0, 9600, 0x1000);
  trace.malloc(0, 16000, 0x3000, 10, 3);
  Options options;
  options.from_ns = 4800;
  const auto facts = facts_of(trace, options);
  EXPECT_EQ(facts.peak.live_bytes, 100U) << "carried into the range";
  EXPECT_EQ(facts.peak.time_ns, 4800U);
  options.from_ns = 12800;
  EXPECT_EQ(facts_of(trace, options).peak.live_bytes, 10U);
}

TEST(Filters, OptionsThatDoNotFitTheTraceAreRefused) {
  MemoryTrace trace;
  add_two_sites(trace);
  Options options;
  options.site_of_stack = {0, 1};
  EXPECT_THROW(facts_of(trace, options), std::invalid_argument);
  options.site_of_stack.assign(16, 0);
  options.site_of_stack[3] = 4'000'000'000;
  EXPECT_THROW(facts_of(trace, options), std::invalid_argument);
}

// Samples a known program by the rule the recorder follows, and expects the
// estimates to find the program again.
TEST(Sampling, EstimatesAreUnbiased) {
  constexpr std::uint64_t mean = 4096;
  constexpr std::uint64_t blocks = 400'000;
  std::mt19937_64 random(11);
  MemoryTrace trace;
  trace.chunk_events = 30000;
  trace.metadata_record.sample_mean_bytes = mean;
  std::uint64_t true_bytes = 0;
  std::uint64_t small_blocks = 0;
  std::uint64_t now = 0;
  for (std::uint64_t block = 0; block < blocks; ++block) {
    const std::uint64_t size = block % 100 == 0 ? 20000 + random() % 20000 : 16 + random() % 500;
    true_bytes += size;
    small_blocks += size < 1024 ? 1 : 0;
    const auto chance = 1 - std::exp(-static_cast<double>(size) / mean);
    if (static_cast<double>(random() >> 11) * 0x1.0p-53 >= chance) {
      continue;
    }
    now += 160;
    trace.malloc(0, now, 0x10000 + block * 64, size, size < 1024 ? 1 : 2);
    if (block % 2 == 0) {
      now += 160;
      trace.free(0, now, 0x10000 + block * 64);
    }
  }
  const auto facts = facts_of(trace);
  const auto expect_near = [](std::uint64_t found, double exact, double share) {
    EXPECT_NEAR(static_cast<double>(found), exact, exact * share);
  };
  expect_near(facts.totals.allocations, blocks, 0.03);
  expect_near(facts.totals.requested_bytes, static_cast<double>(true_bytes), 0.03);
  expect_near(facts.sites[1].allocations, static_cast<double>(small_blocks), 0.03);
  expect_near(facts.totals.releases, blocks / 2.0, 0.03);
  expect_near(facts.sites[1].freed + facts.sites[1].live_at_end_blocks,
              static_cast<double>(facts.sites[1].allocations), 1e-5);
  EXPECT_NEAR(static_cast<double>(facts.peak.live_bytes),
              static_cast<double>(facts.sites[1].live_at_peak_bytes + facts.sites[2].live_at_peak_bytes), 1)
      << "each is rounded on its own";
}

}  // namespace
}  // namespace heapwright::analyze
