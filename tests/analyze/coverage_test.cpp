// SPDX-License-Identifier: MIT
// What a report may say of blocks around the times in which nothing was
// recorded.
#include "analyze/coverage.hpp"

#include <gtest/gtest.h>

#include "memory_trace.hpp"

namespace heapwright::analyze {
namespace {

// A process from 1000 to 9000 ns.
MemoryTrace run_of_process(trace::EndReason reason = trace::EndReason::exited) {
  MemoryTrace trace;
  trace.thread_records = {{0, 100, "main", 1000, 0, 0, 0, 0}};
  trace.end_record = {reason, 0, 9000, 0, 0, 0};
  return trace;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> spans(const Facts& facts) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
  for (const auto& span : facts.coverage.spans) {
    found.emplace_back(span.from_ns, span.to_ns);
  }
  return found;
}

using Pairs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

TEST(Coverage, WithoutSwitchesTheWholeRunIsCovered) {
  auto trace = run_of_process();
  const auto facts = facts_of(trace);
  EXPECT_EQ(spans(facts), (Pairs{{1000, 9000}}));
  EXPECT_TRUE(facts.coverage.is_whole_run);
}

TEST(Coverage, PausesCutSpansAndTheAnalysisWindowCutsThemAgain) {
  auto trace = run_of_process();
  trace.switch_records = {{0, false}, {2000, true}, {4000, false}, {5000, true}};
  auto facts = facts_of(trace);
  EXPECT_EQ(spans(facts), (Pairs{{2000, 4000}, {5000, 9000}}));
  EXPECT_FALSE(facts.coverage.has_start);
  EXPECT_TRUE(facts.coverage.has_end);
  EXPECT_EQ(facts.coverage.pauses, 1U);
  Options options;
  options.from_ns = 3000;
  options.to_ns = 6000;
  EXPECT_EQ(spans(facts_of(trace, options)), (Pairs{{3000, 4000}, {5000, 6000}}));
}

TEST(Coverage, AProcessThatBeganAfterThePauseIsWhole) {
  auto trace = run_of_process();
  trace.switch_records = {{0, false}, {900, true}};
  const auto facts = facts_of(trace);
  EXPECT_EQ(spans(facts), (Pairs{{1000, 9000}}));
  EXPECT_TRUE(facts.coverage.is_whole_run);
}

TEST(Coverage, AProcessThatWasAttachedToLacksTheStart) {
  auto trace = run_of_process();
  trace.metadata_record.conditions = {trace::attached_condition};
  trace.switch_records = {{0, false}, {900, true}};
  const auto facts = facts_of(trace);
  EXPECT_EQ(spans(facts), (Pairs{{900, 9000}}));
  EXPECT_FALSE(facts.coverage.has_start);
  EXPECT_EQ(facts.coverage.pauses, 0U);
  EXPECT_FALSE(facts.coverage.is_whole_run);
}

// What count --room leaves of it: a block from before 4000 ns, and all calls since.
TEST(Coverage, WhatWasForgottenIsInNoTotalAndWhatLivedOnLives) {
  auto trace = run_of_process();
  trace.metadata_record.forgotten_before_ns = 4000;
  trace.malloc(0, 2000, 0xaaa0, 100);
  trace.malloc(0, 5008, 0xbbb0, 30);
  trace.free(0, 6000, 0xbbb0);
  trace.free(0, 6016, 0xccc0);
  auto facts = facts_of(trace);
  EXPECT_EQ(spans(facts), (Pairs{{4000, 9000}}));
  EXPECT_FALSE(facts.coverage.has_start);
  EXPECT_FALSE(facts.coverage.is_whole_run);
  EXPECT_EQ(facts.coverage.pauses, 0U);
  EXPECT_EQ(facts.totals.allocations, 1U);
  EXPECT_EQ(facts.totals.requested_bytes, 30U);
  EXPECT_EQ(facts.totals.releases_from_before, 1U);
  EXPECT_EQ(facts.totals.unknown_releases, 0U);
  EXPECT_EQ(facts.peak.live_bytes, 130U);
  std::uint64_t live_at_end_bytes = 0;
  for (const auto& site : facts.sites) {
    live_at_end_bytes += site.live_at_end_bytes;
  }
  EXPECT_EQ(live_at_end_bytes, 100U);
  // A window begins no earlier, and may begin later.
  Options options;
  options.from_ns = 3000;
  EXPECT_EQ(facts_of(trace, options).totals.allocations, 1U);
  options.from_ns = 5500;
  EXPECT_EQ(facts_of(trace, options).totals.allocations, 0U);
  EXPECT_EQ(facts_of(trace, options).peak.live_bytes, 130U);
  // A pause since then is one.
  trace.switch_records = {{5000, false}, {5600, true}};
  EXPECT_EQ(facts_of(trace).coverage.pauses, 1U);
}

TEST(Coverage, ARecordingThatStoppedFirstLacksTheEnd) {
  for (const auto reason : {trace::EndReason::size_limit, trace::EndReason::duration_limit,
                            trace::EndReason::stopped, trace::EndReason::missing}) {
    auto trace = run_of_process(reason);
    EXPECT_FALSE(facts_of(trace).coverage.has_end);
  }
  auto trace = run_of_process();
  trace.switch_records = {{5000, false}};
  const auto facts = facts_of(trace);
  EXPECT_FALSE(facts.coverage.has_end);
  EXPECT_TRUE(facts.coverage.has_start);
  EXPECT_EQ(spans(facts), (Pairs{{1000, 5000}}));
}

TEST(Coverage, ReleasesOfBlocksFromBeforeTheRecordingAreNoErrors) {
  auto trace = run_of_process();
  trace.switch_records = {{0, false}, {2000, true}};
  trace.free(0, 3008, 0xaaa0);
  const auto facts = facts_of(trace);
  EXPECT_EQ(facts.totals.releases_from_before, 1U);
  EXPECT_EQ(facts.totals.unknown_releases, 0U);
}

TEST(Coverage, BeforeTheFirstPauseAnUnknownReleaseStaysAnError) {
  auto trace = run_of_process();
  trace.switch_records = {{4000, false}, {5000, true}};
  trace.free(0, 3008, 0xaaa0);
  trace.free(0, 6000, 0xbbb0);
  const auto facts = facts_of(trace);
  EXPECT_EQ(facts.totals.releases_from_before, 1U);
  EXPECT_EQ(facts.totals.unknown_releases, 1U);
}

TEST(Coverage, BlocksThatLivedAtAPauseAreToldApartFromLeaks) {
  auto trace = run_of_process();
  trace.switch_records = {{4000, false}, {5000, true}};
  trace.malloc(0, 2000, 0x1000, 100, 1);
  trace.malloc(0, 2100, 0x2000, 30, 1);
  trace.free(0, 3000, 0x2000);
  trace.malloc(0, 6000, 0x3000, 7, 1);
  const auto facts = facts_of(trace);
  EXPECT_EQ(facts.sites[1].live_at_end_bytes, 107U);
  EXPECT_EQ(facts.sites[1].live_at_end_blocks, 2U);
  EXPECT_EQ(facts.sites[1].live_at_pause_bytes, 100U);
  EXPECT_EQ(facts.sites[1].live_at_pause_blocks, 1U);
}

TEST(Coverage, AnAddressThatComesBackAfterAPauseWasReleasedInIt) {
  auto trace = run_of_process();
  trace.switch_records = {{4000, false}, {5000, true}};
  trace.malloc(0, 2000, 0x1000, 100, 1);
  trace.malloc(0, 6000, 0x1000, 7, 1);
  trace.malloc(0, 7000, 0x1000, 9, 1);
  const auto facts = facts_of(trace);
  EXPECT_EQ(facts.totals.releases_in_pauses, 1U);
  EXPECT_EQ(facts.totals.reused_live_addresses, 1U);
  EXPECT_EQ(facts.sites[1].live_at_pause_bytes, 0U);
}

TEST(Coverage, MismatchesAndUnknownReleasesBeforeTheAnalysisWindowDoNotCount) {
  auto trace = run_of_process();
  trace.switch_records = {{0, false}, {1500, true}};
  const auto sized = [&](std::uint64_t begin_ns, std::uint64_t address) {
    trace.malloc(0, begin_ns, address, 10);
    trace.add(0, {trace::EventKind::delete_sized, begin_ns + 100, 16, 11, 0, address, 0, 0, 0});
  };
  sized(2000, 0x1000);
  trace.free(0, 2500, 0xaaa0);
  sized(6000, 0x2000);
  trace.free(0, 6500, 0xbbb0);
  Options options;
  options.from_ns = 5000;
  const auto facts = facts_of(trace, options);
  EXPECT_EQ(facts.totals.size_mismatches, 1U);
  EXPECT_EQ(facts.totals.releases_from_before, 1U);
}

}  // namespace
}  // namespace heapwright::analyze
