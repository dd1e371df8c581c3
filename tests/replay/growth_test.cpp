// SPDX-License-Identifier: MIT
// Calls that a change leaves out: of blocks that grow, that are small.
#include "replay/changed_plans.hpp"

namespace heapwright::replay {
namespace {

TEST(Reserve, GivesABlockItsLargestSizeFromTheStart) {
  auto trace = trace_of_threads(2);
  trace.malloc(0, 100, 0x1000, 100, chosen);
  trace.realloc(0, 200, 0x1000, 0x2000, 40'000);
  trace.realloc(1, 300, 0x2000, 0x3000, 30'000);
  trace.free(1, 400, 0x3000);
  trace.malloc(0, 500, 0x1000, 70, chosen);
  trace.free(0, 600, 0x1000);
  const PlanOf plan(trace, request_of(Change::reserve));
  const auto made = plan.operations(0);
  std::vector<std::uint64_t> sizes;
  for (const Operation& operation : made) {
    if (operation.kind == number_of(trace::EventKind::malloc_)) sizes.push_back(operation.size);
  }
  EXPECT_EQ(sizes, (std::vector<std::uint64_t>{40'000, 70}));
  EXPECT_EQ(kinds_of(plan, 1), (std::vector<unsigned>{serve_nothing, number_of(trace::EventKind::free_)}));
  EXPECT_EQ(plan.header().changed[0].blocks, 1u);
  EXPECT_EQ(plan.header().changed[0].bytes, 40'000u);
  EXPECT_EQ(plan.header().changed[0].events, 2u);
  run_both(plan);
}

void grow_by_copies(order::MemoryTrace& trace, std::uint32_t thread, std::uint64_t begin_ns) {
  trace.malloc(thread, begin_ns, 0x1000, 64, chosen);
  trace.malloc(thread, begin_ns + 100, 0x2000, 128, chosen);
  trace.free(thread, begin_ns + 200, 0x1000);
  trace.malloc(thread, begin_ns + 300, 0x1000, 40'000, chosen);
  trace.free(thread, begin_ns + 400, 0x2000);
}

TEST(Reserve, JoinsWhatGrowsByNewBlocks) {
  auto trace = trace_of_threads(2);
  grow_by_copies(trace, 0, 1000);
  trace.realloc(1, 2000, 0x1000, 0x3000, 50'000);
  trace.free(1, 3000, 0x3000);
  const PlanOf plan(trace, request_of(Change::reserve));
  EXPECT_EQ(kinds_of(plan, 0), (std::vector<unsigned>{number_of(trace::EventKind::malloc_), serve_take,
                                                      serve_drop, serve_take, serve_drop}));
  EXPECT_EQ(kinds_of(plan, 1), (std::vector<unsigned>{serve_nothing, number_of(trace::EventKind::free_)}));
  EXPECT_EQ(plan.operations(0)[0].size, 50'000u);
  const ChangeCounts& counts = plan.header().changed[0];
  EXPECT_EQ(counts.blocks, 1u);
  EXPECT_EQ(counts.bytes, 50'000u);
  EXPECT_EQ(counts.events, 3u);
  run_both(plan);
}

TEST(Reserve, FindsTheFirstBlockOfGrowthInTheFile) {
  auto trace = trace_of_threads(1);
  grow_by_copies(trace, 0, 1000);
  for (std::uint64_t i = 1; i <= 40'000; ++i) trace.malloc(0, 20'000 + i * 100, 0x100000 + i * 4096, 8);
  trace.malloc(0, 5'000'000, 0x9000, 70'000, chosen);
  trace.free(0, 5'000'100, 0x1000);
  trace.free(0, 5'000'200, 0x9000);
  const PlanOf plan(trace, request_of(Change::reserve));
  EXPECT_EQ(plan.operations(0)[0].size, 70'000u);
}

TEST(Reserve, JoinsNothingElse) {
  auto trace = trace_of_threads(2);
  grow_by_copies(trace, 0, 1000);
  trace.malloc(0, 2000, 0x4000, 45'000, chosen);  // by less than a quarter
  trace.free(0, 2100, 0x1000);
  trace.malloc(0, 3000, 0x5000, 90'000, chosen);
  trace.realloc(1, 3100, 0x4000, 0x4000, 46'000);  // another thread's
  trace.free(0, 3200, 0x4000);
  trace.malloc(0, 4000, 0x6000, 200'000, chosen);
  trace.free(1, 4100, 0x5000);  // by another thread
  trace.malloc(0, 5000, 0x7000, 64, chosen);
  trace.malloc(0, 5100, 0x8000, 128, chosen);
  trace.malloc(0, 5200, 0x9000, 8, chosen);
  trace.free(0, 5300, 0x9000);
  trace.free(0, 5400, 0x7000);  // not the last call before it
  trace.malloc(0, 6000, 0x7000, 256, chosen);
  for (std::uint64_t i = 0; i < 33; ++i) trace.malloc(0, 6100 + i * 10, 0x100000 + i * 4096, 8);
  trace.free(0, 6500, 0x8000);  // no copies of so few bytes
  for (std::uint64_t i = 0; i < 33; ++i) trace.free(0, 6600 + i * 10, 0x100000 + i * 4096);
  trace.free(0, 7000, 0x6000);
  trace.free(0, 7100, 0x7000);
  const PlanOf plan(trace, request_of(Change::reserve));
  const ChangeCounts& counts = plan.header().changed[0];
  EXPECT_EQ(counts.blocks, 2u);  // the first one, and what the other thread's realloc made larger
  EXPECT_EQ(counts.events, 3u);
  run_both(plan);
}

TEST(Reserve, TakesTheElementsCopiesForAStep) {
  auto trace = trace_of_threads(1);
  trace.malloc(0, 1000, 0x1000, 64, chosen);
  trace.malloc(0, 2000, 0x2000, 128, chosen);
  for (std::uint64_t i = 0; i < 8; ++i) {
    trace.malloc(0, 2100 + i * 20, 0x10000 + i * 4096, 8);
    trace.malloc(0, 2300 + i * 20, 0x90000 + i * 4096, 8);
  }
  trace.free(0, 3000, 0x1000);
  trace.free(0, 4000, 0x2000);
  const PlanOf plan(trace, request_of(Change::reserve));
  EXPECT_EQ(plan.header().changed[0].events, 1u);
}

// Each takes the place of the one before, and is larger now and then.
TEST(Reserve, RefusesBlocksThatGiveWayToAnySize) {
  auto trace = trace_of_threads(1);
  std::uint64_t time_ns = 0;
  trace.malloc(0, time_ns += 100, 0x1000, 100, chosen);
  for (const std::uint64_t size : {400, 200, 900, 300, 100}) {
    trace.malloc(0, time_ns += 100, 0x2000, size, chosen);
    trace.free(0, time_ns += 100, 0x1000);
    trace.realloc(0, time_ns += 100, 0x2000, 0x1000, size, chosen);
  }
  EXPECT_NE(refusal_of(trace, Change::reserve).find("blocks of any size"), std::string::npos);
}

// Its blocks are made in a row: the last one need not have been made by the thread's last call.
TEST(Reserve, JoinsNoBlocksFromBeforeAWindow) {
  auto trace = trace_of_threads(1);
  trace.malloc(0, 100, 0x1000, 64, chosen);
  trace.malloc(0, 200, 0x2000, 128, chosen);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    trace.malloc(0, 1000 + i * 200, 0x100000, 8);
    trace.free(0, 1100 + i * 200, 0x100000);
  }
  trace.free(0, 300'000, 0x1000);
  trace.realloc(0, 300'100, 0x2000, 0x2000, 256, chosen);
  trace.free(0, 300'200, 0x2000);
  trace.end_record.time_ns = 300'300;
  trace::MemorySample peak;
  peak.time_ns = 300'200;
  peak.resident_anonymous_bytes = 1 << 20;
  trace.samples.push_back(peak);
  const PlanOf plan(trace, request_of(Change::reserve), 10);
  EXPECT_EQ(plan.header().earlier_blocks, 3u);  // one is no block of the sites
  EXPECT_EQ(plan.header().changed[0].events, 1u);
}

TEST(SmallVector, HasNoBlocksForWhatFits) {
  auto trace = trace_of_threads(2);
  trace.malloc(0, 1000, 0x1000, 64, chosen);
  trace.malloc(0, 2000, 0x2000, 65, chosen);
  trace.free(1, 3000, 0x1000);
  trace.malloc(0, 4000, 0x1000, 8, chosen);
  trace.realloc(0, 5000, 0x1000, 0x3000, 16, chosen);
  trace.realloc(0, 6000, 0x3000, 0x1000, 100, chosen);
  trace.realloc(0, 7000, 0x1000, 0x3000, 20, chosen);
  trace.free(0, 8000, 0x3000);
  trace.free(0, 9000, 0x2000);
  const PlanOf plan(trace, request_of({Change::small_vector, 64}));
  const auto malloc_kind = number_of(trace::EventKind::malloc_);
  const auto realloc_kind = number_of(trace::EventKind::realloc_);
  const auto free_kind = number_of(trace::EventKind::free_);
  const std::vector<unsigned> expected = {serve_nothing, malloc_kind,  serve_nothing, serve_nothing,
                                          realloc_kind,  realloc_kind, free_kind,     free_kind};
  EXPECT_EQ(kinds_of(plan, 0), expected);
  EXPECT_EQ(kinds_of(plan, 1), std::vector<unsigned>{serve_drop});
  const ChangeCounts& counts = plan.header().changed[0];
  EXPECT_EQ(counts.blocks, 2u);
  EXPECT_EQ(counts.bytes, 72u);
  EXPECT_EQ(counts.events, 4u);
  EXPECT_EQ(counts.foreign_moves, 0u);
  run_both(plan);
}

}  // namespace
}  // namespace heapwright::replay
