// SPDX-License-Identifier: MIT
// Runs of releases and growth by copies: small courses worked out by hand.
#include "analyze/facts/patterns.hpp"

#include <gtest/gtest.h>

#include "analyze/release_runs.hpp"
#include "memory_trace.hpp"

namespace heapwright::analyze {
namespace {

constexpr std::uint64_t step = 1600;

// Blocks of two sites by turns, 1 and 2, of 32 and 48 bytes; `kept` more of site 2.
std::uint64_t make_tree(MemoryTrace& trace, std::uint64_t at_ns, int pairs, int kept = 0) {
  for (int pair = 0; pair < pairs; ++pair) {
    const auto address = 0x100000 + static_cast<std::uint64_t>(pair) * 0x100;
    trace.malloc(0, at_ns, address, 32, 1);
    trace.malloc(0, at_ns + step, address + 0x80, 48, 2);
    at_ns += 2 * step;
  }
  for (int block = 0; block < kept; ++block, at_ns += step) {
    trace.malloc(0, at_ns, 0x900000 + static_cast<std::uint64_t>(block) * 0x100, 48, 2);
  }
  return at_ns;
}

std::uint64_t drop_tree(MemoryTrace& trace, std::uint64_t at_ns, int pairs, int first = 0) {
  for (int pair = first; pair < pairs; ++pair) {
    const auto address = 0x100000 + static_cast<std::uint64_t>(pair) * 0x100;
    trace.free(0, at_ns, address);
    trace.free(0, at_ns + step, address + 0x80);
    at_ns += 2 * step;
  }
  return at_ns;
}

TEST(ReleaseRuns, TellWhatDiesTogetherFromTheThirtySecondReleaseOn) {
  MemoryTrace trace;
  std::uint64_t at_ns = step;
  for (int round = 0; round < 2; ++round) {
    at_ns = drop_tree(trace, make_tree(trace, at_ns, 50), 50);
  }
  const auto facts = facts_of(trace);
  const auto blocks = 100 - (ReleaseRuns::attributed_from - 1);  // 69: begin and end with site 2
  ASSERT_EQ(facts.release_runs.size(), 2U);
  for (const auto& run : facts.release_runs) {
    EXPECT_EQ(run.site, 2U);
    EXPECT_EQ(run.blocks, blocks);
    EXPECT_EQ(run.bytes, 34U * 32 + 35 * 48);
    EXPECT_EQ(run.end_ns - run.begin_ns, (blocks - 1) * step);
    EXPECT_EQ(run.busy_ns, (blocks - 1) * step);
    EXPECT_EQ(run.release_ns, blocks * 16);
  }
  ASSERT_EQ(facts.emptied_sites.size(), 2U);
  EXPECT_EQ(facts.emptied_sites[0].leader, 2U);
  EXPECT_EQ(facts.emptied_sites[0].site, 2U);
  EXPECT_EQ(facts.emptied_sites[0].runs, 2U);
  EXPECT_EQ(facts.emptied_sites[0].blocks, 70U);
  EXPECT_EQ(facts.emptied_sites[0].bytes, 70U * 48);
  EXPECT_EQ(facts.emptied_sites[1].leader, 2U);
  EXPECT_EQ(facts.emptied_sites[1].site, 1U);
  EXPECT_EQ(facts.emptied_sites[1].blocks, 68U);
}

TEST(ReleaseRuns, WhileTheThreadLostItsProcessorTookNoTimeOfTheirs) {
  MemoryTrace trace;
  const auto at_ns = make_tree(trace, step, 50);
  drop_tree(trace, drop_tree(trace, at_ns, 40) + 500'000, 50, 40);  // others ran for half a millisecond
  const auto facts = facts_of(trace);
  ASSERT_EQ(facts.release_runs.size(), 1U);
  const auto& run = facts.release_runs[0];
  EXPECT_EQ(run.end_ns - run.begin_ns, (run.blocks - 1) * step + 500'000);
  EXPECT_EQ(run.busy_ns, (run.blocks - 2) * step + 16 + 20'000);
}

TEST(ReleaseRuns, ASiteThatKeepsAnEighthIsNotEmptied) {
  MemoryTrace trace;
  drop_tree(trace, make_tree(trace, step, 50, 5), 50);  // 35 of site 2 die in the run, 5 stay
  const auto facts = facts_of(trace);
  ASSERT_EQ(facts.emptied_sites.size(), 1U);
  EXPECT_EQ(facts.emptied_sites[0].site, 1U);
}

TEST(ReleaseRuns, AnAllocationOfTheThreadEndsARunAndOthersDoNot) {
  MemoryTrace trace;
  auto at_ns = make_tree(trace, step, 50);
  trace.malloc(1, at_ns + 10 * step + 16, 0x800000, 100, 3);
  at_ns = drop_tree(trace, at_ns, 20);
  trace.malloc(0, at_ns, 0x810000, 100, 3);
  drop_tree(trace, at_ns + step, 50, 20);
  const auto facts = facts_of(trace);
  ASSERT_EQ(facts.release_runs.size(), 2U);
  EXPECT_EQ(facts.release_runs[0].blocks + 31, 40U);
  EXPECT_EQ(facts.release_runs[1].blocks + 31, 60U);
}

TEST(ReleaseRuns, AGapEndsAPieceAndNotWhatDiesTogether) {
  MemoryTrace trace;
  const auto at_ns = make_tree(trace, step, 50);
  drop_tree(trace, drop_tree(trace, at_ns, 40) + 1'000'000, 50, 40);
  const auto facts = facts_of(trace);
  ASSERT_EQ(facts.release_runs.size(), 2U);
  EXPECT_EQ(facts.release_runs[0].blocks + 31, 80U);
  EXPECT_EQ(facts.release_runs[1].blocks, 20U);
  ASSERT_EQ(facts.emptied_sites.size(), 2U);
  EXPECT_EQ(facts.emptied_sites[0].runs, 1U);
}

TEST(ReleaseRuns, OfATimeRangeAreThoseWithinIt) {
  MemoryTrace trace;
  auto at_ns = drop_tree(trace, make_tree(trace, step, 50), 50);
  const auto border_ns = at_ns;
  at_ns = drop_tree(trace, make_tree(trace, at_ns, 50), 50);
  Options options;
  options.from_ns = border_ns;
  const auto facts = facts_of(trace, options);
  ASSERT_EQ(facts.release_runs.size(), 1U);
  EXPECT_GE(facts.release_runs[0].begin_ns, border_ns);
}

// A vector of site 1 that grows from 64 bytes, twofold, `steps` times.
std::uint64_t grow(MemoryTrace& trace, std::uint64_t at_ns, int steps, std::uint64_t address = 0x100000) {
  std::uint64_t size = 64;
  trace.malloc(0, at_ns, address, size, 1);
  for (int grown = 0; grown < steps; ++grown) {
    size *= 2;
    trace.malloc(0, at_ns += step, address + 0x10000, size, 1, 32);
    trace.free(0, at_ns += step, address, 64);
    address += 0x10000;
  }
  trace.malloc(0, at_ns += step, 0xF00000, 8, 4);  // so that the last block's end is no temporary's
  trace.free(0, at_ns += step, address);
  trace.free(0, at_ns += step, 0xF00000);
  return at_ns + step;
}

TEST(CopiedGrowth, IsABlockThatGaveWayToALargerOneOfItsSite) {
  MemoryTrace trace;
  auto at_ns = grow(trace, step, 2);
  at_ns = grow(trace, at_ns, 0);
  grow(trace, at_ns, 3);
  const auto facts = facts_of(trace);
  ASSERT_EQ(facts.copied_growths.size(), 1U);
  const auto& growth = facts.copied_growths[0];
  EXPECT_EQ(growth.site, 1U);
  EXPECT_EQ(growth.steps, 5U);
  EXPECT_EQ(growth.copied_bytes, 64U + 128 + 64 + 128 + 256);
  EXPECT_EQ(growth.time_ns, 5 * (step + 64));
  EXPECT_EQ(growth.chains, 3U);  // ended at 256, 64 and 512
  EXPECT_GE(growth.final_p50_bytes, 256U);
  EXPECT_LT(growth.final_p50_bytes, 288U);
  EXPECT_GE(growth.final_p90_bytes, 512U);
  EXPECT_LT(growth.final_p90_bytes, 576U);
}

TEST(CopiedGrowth, OfAThreadThatLostItsProcessorCostsNoMore) {
  MemoryTrace trace;
  trace.malloc(0, step, 0x10000, 1000, 1);
  trace.malloc(0, 2 * step, 0x20000, 2000, 1, 32);
  trace.free(0, 2 * step + 4'000'000, 0x10000, 64);  // others ran for 4 ms between the copy and this
  const auto facts = facts_of(trace);
  ASSERT_EQ(facts.copied_growths.size(), 1U);
  EXPECT_EQ(facts.copied_growths[0].steps, 1U);
  EXPECT_EQ(facts.copied_growths[0].time_ns, 2 * 1000U + 20'000);
}

TEST(CopiedGrowth, BySmallStepsIsCountedApart) {
  MemoryTrace trace;
  trace.malloc(0, 1 * step, 0x10000, 1000, 1);
  trace.malloc(0, 2 * step, 0x20000, 1249, 1, 32);
  trace.free(0, 3 * step, 0x10000, 64);
  trace.malloc(0, 4 * step, 0x30000, 1250, 1, 32);
  trace.free(0, 5 * step, 0x20000, 64);
  trace.malloc(0, 6 * step, 0x40000, 2500, 1, 32);  // no small one
  trace.free(0, 7 * step, 0x30000, 64);
  trace.malloc(0, 8 * step, 0x50000, 2500, 1, 32);  // a copy of the value
  trace.malloc(0, 9 * step, 0x60000, 2600, 1, 32);  // takes its place, and that of the value itself
  trace.free(0, 10 * step, 0x50000, 64);
  trace.free(0, 11 * step, 0x40000, 64);
  trace.malloc(0, 12 * step, 0x70000, 8, 3);
  trace.free(0, 13 * step, 0x60000);
  const auto facts = facts_of(trace);
  ASSERT_EQ(facts.copied_growths.size(), 1U);
  const auto& growth = facts.copied_growths[0];
  EXPECT_EQ(growth.small_steps, 4U);
  EXPECT_EQ(growth.small_copied_bytes, 1000U + 1249 + 2500 + 2500);
  EXPECT_EQ(growth.small_time_ns, 4 * (step + 64) + step);
  EXPECT_EQ(growth.steps, 1U);
  EXPECT_EQ(growth.copied_bytes, 1250U);
}

TEST(CopiedGrowth, IsNotWhatTakesAnothersPlaceWithoutGrowing) {
  MemoryTrace trace;
  trace.malloc(0, 1 * step, 0x10000, 64, 1);
  trace.malloc(0, 2 * step, 0x20000, 64, 1);  // as large
  trace.free(0, 3 * step, 0x10000);
  trace.malloc(0, 4 * step, 0x30000, 300, 1);  // more than four times as large
  trace.free(0, 5 * step, 0x20000);
  trace.malloc(0, 6 * step, 0x40000, 600, 2);  // of another site
  trace.free(0, 7 * step, 0x30000);
  trace.malloc(0, 8 * step, 0x50000, 1200, 2);
  trace.malloc(0, 9 * step, 0x60000, 8, 3);  // something between
  trace.free(0, 10 * step, 0x40000);
  trace.free(0, 11 * step, 0x50000);
  const auto facts = facts_of(trace);
  EXPECT_TRUE(facts.copied_growths.empty());
}

TEST(Sites, KnowWhichOfTheirBlocksOperatorNewMade) {
  MemoryTrace trace;
  trace.malloc(0, step, 0x10000, 64, 1);
  trace.add(0, {trace::EventKind::new_plain, 2 * step, 16, 24, 24, 0x20000, 0, 2, 0});
  trace.add(0, {trace::EventKind::new_array_nothrow, 3 * step, 16, 24, 24, 0x30000, 0, 2, 0});
  const auto facts = facts_of(trace);
  EXPECT_EQ(facts.sites[1].by_operator_new, 0U);
  EXPECT_EQ(facts.sites[2].by_operator_new, 2U);
}

}  // namespace
}  // namespace heapwright::analyze
