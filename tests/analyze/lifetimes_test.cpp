// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "memory_trace.hpp"

namespace heapwright::analyze {
namespace {

std::uint64_t cell(const LifetimeMap& map, std::uint64_t size_from, std::size_t column) {
  for (std::size_t row = 0; row < map.size_from_bytes.size(); ++row) {
    if (map.size_from_bytes[row] == size_from) {
      return map.blocks[row * (map.lifetime_from_ns.size() + 1) + column];
    }
  }
  return UINT64_MAX;
}

TEST(Lifetimes, MapHasHalfDecadesAndACensoredColumn) {
  MemoryTrace trace;
  trace.malloc(0, 0, 0x1000, 20, 1, 0);
  trace.free(0, 96, 0x1000);
  trace.malloc(0, 1600, 0x1000, 20, 1, 0);
  trace.free(0, 1600 + 112, 0x1000);
  trace.malloc(0, 3200, 0x1000, 1000, 1, 0);
  trace.free(0, 3200 + 2'000'000'000'000, 0x1000);
  trace.malloc(0, 3'000'000'000'000, 0x1000, 20, 1, 0);
  const auto facts = facts_of(trace);
  const auto& map = facts.lifetimes;
  ASSERT_EQ(map.lifetime_from_ns.size(), 22U);
  EXPECT_EQ(map.lifetime_from_ns[0], 0U);
  EXPECT_EQ(map.lifetime_from_ns[1], 100U);
  EXPECT_EQ(map.lifetime_from_ns[2], 316U);
  EXPECT_EQ(map.lifetime_from_ns[3], 1000U);
  EXPECT_EQ(map.lifetime_from_ns[21], 1'000'000'000'000U);
  EXPECT_EQ(cell(map, 16, 0), 1U);
  EXPECT_EQ(cell(map, 16, 1), 1U);
  EXPECT_EQ(cell(map, 512, 21), 1U);
  EXPECT_EQ(cell(map, 16, 22), 1U) << "still live";
  std::uint64_t blocks = 0;
  for (const auto count : map.blocks) {
    blocks += count;
  }
  EXPECT_EQ(blocks, 4U);
}

TEST(Lifetimes, WhenTheBlocksThatStayedWereMade) {
  MemoryTrace trace;
  trace.malloc(0, 0, 0x1000, 20, 1, 0);
  trace.malloc(0, 3200, 0x2000, 20, 2, 0);  // freed
  trace.malloc(0, 33'000, 0x3000, 20, 1, 0);
  trace.malloc(0, 63'999, 0x4000, 20, 2, 0);
  trace.free(0, 64'000, 0x2000);
  auto facts = facts_of(trace);
  EXPECT_EQ(facts.stacks[1].live_at_end_parts, 1U | std::uint64_t{1} << 32);
  EXPECT_EQ(facts.stacks[2].live_at_end_parts, std::uint64_t{1} << 63);
  Options options;
  options.site_of_stack.assign(16, 0);
  facts = facts_of(trace, options);
  EXPECT_EQ(facts.sites[0].live_at_end_parts, 1U | std::uint64_t{1} << 32 | std::uint64_t{1} << 63);
  options.stack_chosen = {0, 1};
  facts = facts_of(trace, options);
  EXPECT_EQ(facts.sites[0].live_at_end_parts, 1U | std::uint64_t{1} << 32) << "of what was chosen";
}

TEST(Lifetimes, StartWhenTheCallReturns) {
  MemoryTrace trace;
  trace.malloc(0, 1600, 0x1000, 20, 1, 160);
  trace.free(0, 2000, 0x1000);
  const auto facts = facts_of(trace);
  EXPECT_EQ(facts.sites[1].lifetime_sum_ns, 240U);
}

TEST(Temporaries, AreFreedBeforeTheirThreadAllocatesAgain) {
  MemoryTrace trace;
  trace.malloc(0, 1600, 0x1000, 20, 1);
  trace.malloc(1, 1760, 0x9000, 20, 2);  // another thread does not matter
  trace.free(0, 3200, 0x1000);           // temporary
  trace.malloc(0, 4800, 0x1000, 20, 1);
  trace.malloc(0, 6400, 0x2000, 20, 1);
  trace.free(0, 8000, 0x1000);  // not the latest
  trace.free(0, 9600, 0x2000);  // temporary
  trace.free(0, 9760, 0x9000);  // another thread's
  trace.malloc(0, 11200, 0x3000, 20, 1);
  trace.free(1, 12800, 0x3000);  // freed by another thread
  const auto facts = facts_of(trace);
  EXPECT_EQ(facts.temporaries, 2U);
  EXPECT_EQ(facts.sites[1].temporaries, 2U);
  EXPECT_EQ(facts.threads[0].temporaries, 2U);
  EXPECT_EQ(facts.threads[1].temporaries, 0U);
}

TEST(CrossThread, CountsWhoFreesWhoseBlocks) {
  MemoryTrace trace;
  trace.malloc(2, 1600, 0x1000, 20, 1);
  trace.malloc(2, 3200, 0x2000, 30, 1);
  trace.malloc(5, 4800, 0x3000, 40, 2);
  trace.free(5, 6400, 0x1000);
  trace.free(5, 8000, 0x2000);
  trace.free(5, 9600, 0x3000);
  const auto facts = facts_of(trace);
  ASSERT_EQ(facts.cross_thread.size(), 2U);
  EXPECT_EQ(facts.cross_thread[0].allocating_thread, 2U);
  EXPECT_EQ(facts.cross_thread[0].freeing_thread, 5U);
  EXPECT_EQ(facts.cross_thread[0].blocks, 2U);
  EXPECT_EQ(facts.cross_thread[0].bytes, 50U);
  EXPECT_EQ(facts.cross_thread[1].allocating_thread, 5U);
  EXPECT_EQ(facts.cross_thread[1].blocks, 1U);
  EXPECT_EQ(facts.sites[1].freed_by_other_thread, 2U);
  EXPECT_EQ(facts.sites[2].freed_by_other_thread, 0U);
  EXPECT_EQ(facts.threads[5].releases, 3U);
  EXPECT_EQ(facts.threads[2].allocations, 2U);
}

TEST(ReallocChains, FollowABufferFromFirstAllocationToRelease) {
  MemoryTrace trace;
  trace.malloc(0, 1600, 0x1000, 100, 1);
  trace.realloc(0, 3200, 0x1000, 0x2000, 200, 2);  // moves, copies 100
  trace.realloc(0, 4800, 0x2000, 0x2000, 300, 2);  // stays
  trace.realloc(0, 6400, 0x2000, 0x3000, 50, 3);   // shrinks and moves, copies 50
  trace.free(0, 8000, 0x3000);
  trace.realloc(0, 9600, 0, 0x4000, 10, 3);        // plain allocation
  trace.realloc(0, 11200, 0x4000, 0x5000, 20, 3);  // still live at the end
  const auto facts = facts_of(trace);
  ASSERT_EQ(facts.realloc_chains.size(), 1U);
  const auto& chains = facts.realloc_chains[0];
  EXPECT_EQ(chains.site, 3U);
  EXPECT_EQ(chains.chains, 2U);
  EXPECT_EQ(chains.steps, 4U);
  EXPECT_EQ(chains.moved, 3U);
  EXPECT_EQ(chains.copied_bytes, 160U);
  EXPECT_EQ(chains.longest_steps, 3U);
  EXPECT_EQ(chains.final_bytes, 70U);
  EXPECT_EQ(facts.totals.reallocs, 5U);
  EXPECT_EQ(facts.totals.allocations, 6U);
  EXPECT_EQ(facts.totals.releases, 5U);
  EXPECT_EQ(facts.sites[2].reallocs, 2U);
  EXPECT_EQ(facts.peak.live_bytes, 300U);
}

// The C library has the kernel move a block that has a mapping of its own.
TEST(ReallocChains, NothingOfAMappedBlockIsCopied) {
  for (const bool is_glibc : {true, false}) {
    MemoryTrace trace;
    trace.metadata_record.allocator = is_glibc ? "glibc 2.36 (/lib/libc.so.6)" : "jemalloc 5.3.0";
    constexpr std::uint64_t large = 1 << 20;
    trace.malloc(0, 1600, 0x100010, large - 8, 1);              // usable a multiple of 16: a mapping
    trace.realloc(0, 3200, 0x100010, 0x800010, 2 * large, 1);   // moves
    trace.realloc(0, 4800, 0x800010, 0x2000010, 4 * large, 1);  // 8 more: a block of the heap, copied
    const auto facts = facts_of(trace);
    ASSERT_EQ(facts.realloc_chains.size(), 1U);
    EXPECT_EQ(facts.realloc_chains[0].moved, 2U);
    EXPECT_EQ(facts.realloc_chains[0].copied_bytes, is_glibc ? 2 * large : 3 * large - 8);
  }
}

TEST(ReallocChains, FailedReallocLeavesItsBlock) {
  MemoryTrace trace;
  trace.malloc(0, 1600, 0x1000, 100, 1);
  trace.realloc(0, 3200, 0x1000, 0, 1U << 30, 2);
  const auto facts = facts_of(trace);
  EXPECT_EQ(facts.totals.failed, 1U);
  EXPECT_EQ(facts.totals.releases, 0U);
  EXPECT_EQ(facts.sites[1].live_at_end_bytes, 100U);
  EXPECT_TRUE(facts.realloc_chains.empty());
}

TEST(ReallocChains, ReallocToZeroReleases) {
  MemoryTrace trace;
  trace.malloc(0, 1600, 0x1000, 100, 1);
  trace.realloc(0, 3200, 0x1000, 0, 0, 2);
  const auto facts = facts_of(trace);
  EXPECT_EQ(facts.totals.failed, 0U);
  EXPECT_EQ(facts.totals.releases, 1U);
  EXPECT_EQ(facts.sites[1].freed, 1U);
  EXPECT_EQ(facts.sites[1].live_at_end_bytes, 0U);
}

TEST(ReallocChains, AnotherThreadMayTakeTheOldPlaceMeanwhile) {
  MemoryTrace trace;
  trace.malloc(0, 160, 0x1000, 100, 1);
  trace.realloc(0, 1600, 0x1000, 0x2000, 200, 2, 1600);
  trace.malloc(1, 1760, 0x1000, 10, 3, 160);  // ends inside the realloc
  const auto facts = facts_of(trace);
  EXPECT_EQ(facts.totals.reused_live_addresses, 0U);
  EXPECT_EQ(facts.sites[2].live_at_end_bytes, 200U);
  EXPECT_EQ(facts.sites[3].live_at_end_bytes, 10U);
  ASSERT_EQ(facts.realloc_chains.size(), 1U);
  EXPECT_EQ(facts.realloc_chains[0].copied_bytes, 100U);
}

}  // namespace
}  // namespace heapwright::analyze
