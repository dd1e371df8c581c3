// SPDX-License-Identifier: MIT
// Blocks of chosen call sites that a replay serves otherwise.
#include "replay/changed_plans.hpp"

namespace heapwright::replay {
namespace {

TEST(Arena, IsResetWithItsLastBlockAndLeavesOtherSitesAlone) {
  auto trace = trace_of_threads(1);
  trace.malloc(0, 100, 0x1000, 40, chosen);
  trace.malloc(0, 200, 0x2000, 40);
  trace.malloc(0, 300, 0x3000, 48, chosen);
  trace.free(0, 400, 0x1000);
  trace.free(0, 500, 0x2000);
  trace.free(0, 600, 0x3000);
  trace.malloc(0, 700, 0x1000, 40, chosen);
  const PlanOf plan(trace, request_of(Change::arena));
  const auto malloc_kind = number_of(trace::EventKind::malloc_);
  const auto free_kind = number_of(trace::EventKind::free_);
  const std::vector<unsigned> expected = {serve_make, malloc_kind, serve_make, serve_release,
                                          free_kind,  serve_last,  serve_make};
  EXPECT_EQ(kinds_of(plan, 0), expected);
  EXPECT_EQ(plan.header().changed[0].blocks, 3u);
  EXPECT_EQ(plan.header().changed[0].bytes, 128u);
  EXPECT_EQ(plan.header().changed[0].events, 1u);
  EXPECT_EQ(plan.header().changed[0].never_freed, 1u);
}

TEST(Arena, ThatAnotherThreadEmptiedIsResetByItsOwn) {
  auto trace = trace_of_threads(2);
  trace.malloc(0, 100, 0x1000, 40, chosen);
  trace.free(1, 200, 0x1000);
  trace.malloc(0, 300, 0x1000, 40, chosen);
  trace.free(0, 400, 0x1000);
  const PlanOf plan(trace, request_of(Change::arena));
  EXPECT_EQ(kinds_of(plan, 0), (std::vector<unsigned>{serve_make, serve_first, serve_last}));
  EXPECT_EQ(kinds_of(plan, 1), std::vector<unsigned>{serve_release});
  EXPECT_EQ(plan.header().changed[0].freed_by_others, 1u);
  run_both(plan);
}

// Also what its own thread did to it before; the others stay.
TEST(Arena, LeavesTheHeapWhatAnotherThreadReallocates) {
  auto trace = trace_of_threads(2);
  trace.malloc(0, 100, 0x1000, 40, chosen);
  trace.malloc(0, 200, 0x5000, 48, chosen);
  trace.realloc(0, 300, 0x1000, 0x2000, 60);
  trace.free(0, 400, 0x5000);
  trace.realloc(1, 500, 0x2000, 0x3000, 80);
  trace.malloc(0, 600, 0x5000, 48, chosen);
  trace.free(0, 700, 0x5000);
  trace.free(0, 800, 0x3000);
  const PlanOf plan(trace, request_of(Change::arena));
  const auto malloc_kind = number_of(trace::EventKind::malloc_);
  const auto realloc_kind = number_of(trace::EventKind::realloc_);
  const auto free_kind = number_of(trace::EventKind::free_);
  const std::vector<unsigned> expected = {malloc_kind, serve_make, realloc_kind, serve_release,
                                          serve_first, serve_last, free_kind};
  EXPECT_EQ(kinds_of(plan, 0), expected);
  EXPECT_EQ(kinds_of(plan, 1), std::vector<unsigned>{realloc_kind});
  const ChangeCounts& counts = plan.header().changed[0];
  EXPECT_EQ(counts.blocks, 2u);
  EXPECT_EQ(counts.bytes, 96u);
  EXPECT_EQ(counts.moved_by_others, 1u);
  EXPECT_EQ(counts.never_freed, 0u);
  run_both(plan);
}

TEST(Arena, ForBlocksThatOthersReallocateIsRefused) {
  auto trace = trace_of_threads(2);
  trace.malloc(0, 100, 0x1000, 40, chosen);
  trace.realloc(1, 200, 0x1000, 0x2000, 80);
  EXPECT_NE(refusal_of(trace, Change::arena).find("free or reallocate them all"), std::string::npos);
}

TEST(NodePool, LeavesTheHeapAMovedBlockThatAnotherThreadFrees) {
  auto trace = trace_of_threads(2);
  trace.malloc(0, 100, 0x1000, 40, chosen);
  trace.realloc(0, 200, 0x1000, 0x2000, 60);
  trace.free(1, 300, 0x2000);
  trace.malloc(0, 400, 0x1000, 40, chosen);
  trace.realloc(0, 500, 0x1000, 0x2000, 60);
  trace.free(0, 600, 0x2000);
  const PlanOf plan(trace, request_of(Change::node_pool));
  const std::vector<unsigned> expected = {number_of(trace::EventKind::malloc_),
                                          number_of(trace::EventKind::realloc_), serve_make, serve_make,
                                          serve_release};
  EXPECT_EQ(kinds_of(plan, 0), expected);
  EXPECT_EQ(plan.header().changed[0].bytes, 100u);
  run_both(plan);
}

TEST(NodePool, LeavesTheHeapWhatAnotherThreadFrees) {
  auto trace = trace_of_threads(2);
  trace.malloc(0, 100, 0x1000, 40, chosen);
  trace.malloc(0, 200, 0x2000, 40, chosen);
  trace.free(1, 300, 0x1000);
  trace.free(0, 400, 0x2000);
  const PlanOf plan(trace, request_of(Change::node_pool));
  EXPECT_EQ(kinds_of(plan, 0),
            (std::vector<unsigned>{number_of(trace::EventKind::malloc_), serve_make, serve_release}));
  EXPECT_EQ(kinds_of(plan, 1), std::vector<unsigned>{number_of(trace::EventKind::free_)});
  EXPECT_EQ(plan.header().changed[0].blocks, 1u);
  EXPECT_EQ(plan.header().changed[0].bytes, 40u);
  EXPECT_EQ(plan.header().changed[0].freed_by_others, 1u);
  run_both(plan);
}

// Also where the operation lies in the file already.
TEST(NodePool, FindsTheOperationOfABlockAgain) {
  auto trace = trace_of_threads(2);
  constexpr std::uint64_t blocks = 40'000;
  for (std::uint64_t i = 1; i <= blocks; ++i) trace.malloc(0, i * 100, i * 4096, 40, chosen);
  trace.free(1, blocks * 200, 4096);
  const PlanOf plan(trace, request_of(Change::node_pool));
  const auto kinds = kinds_of(plan, 0);
  EXPECT_EQ(kinds[0], number_of(trace::EventKind::malloc_));
  EXPECT_EQ(kinds[1], unsigned{serve_make});
}

// What grows as std::vector does: a new block, and the release of the old one.
// A block that another thread moved, one that is hardly larger, one that was made before: none is a step.
TEST(BufferCache, LeavesTheHeapWhatIsMoreAligned) {
  auto trace = trace_of_threads(2);
  trace.malloc(0, 1000, 0x1000, 3000, chosen);
  trace.add(0, {trace::EventKind::aligned_alloc_, 2000, 16, 3008, 3016, 0x2000, 0, chosen, 6, {}});
  trace.free(1, 3000, 0x1000);
  trace.free(1, 4000, 0x2000);
  const PlanOf plan(trace, request_of(Change::buffer_cache));
  EXPECT_EQ(kinds_of(plan, 0),
            (std::vector<unsigned>{serve_make, number_of(trace::EventKind::aligned_alloc_)}));
  EXPECT_EQ(kinds_of(plan, 1), (std::vector<unsigned>{serve_release, number_of(trace::EventKind::free_)}));
  EXPECT_EQ(plan.header().changed[0].freed_by_others, 0u);
  run_both(plan);
}

TEST(Changes, AreMadeTogetherEachToItsOwnSites) {
  constexpr std::uint32_t grows = 3;
  constexpr std::uint32_t in_second_arena = 4;
  auto trace = trace_of_threads(1);
  trace.malloc(0, 100, 0x1000, 40, chosen);
  trace.malloc(0, 200, 0x2000, 40, grows);
  trace.malloc(0, 300, 0x3000, 48, in_second_arena);
  trace.free(0, 400, 0x3000);
  trace.realloc(0, 500, 0x2000, 0x4000, 400, grows);
  trace.free(0, 600, 0x4000);
  trace.free(0, 700, 0x1000);
  const ChangeRequest request{
      {{Change::arena, 0}, {Change::reserve, 0}, {Change::arena, 0}}, {0, 0, 1, 2, 3}, {}};
  const PlanOf plan(trace, request);
  const std::vector<unsigned> expected = {
      serve_make,    number_of(trace::EventKind::malloc_), serve_make + 2, serve_last + 2,
      serve_nothing, number_of(trace::EventKind::free_),   serve_last};
  EXPECT_EQ(kinds_of(plan, 0), expected);
  EXPECT_EQ(plan.operations(0)[1].size, 400u);
  EXPECT_EQ(plan.header().part_count, 3u);
  for (std::size_t part = 0; part < 3; ++part) EXPECT_EQ(plan.header().changed[part].blocks, 1u) << part;
  run_both(plan);
}

TEST(Change, ForNothingIsRefused) {
  auto trace = trace_of_threads(1);
  trace.malloc(0, 100, 0x1000, 100);
  trace.free(0, 200, 0x1000);
  EXPECT_NE(refusal_of(trace, Change::arena).find("none is made there"), std::string::npos);
  EXPECT_NE(refusal_of(trace, Change::reserve).find("nothing to reserve"), std::string::npos);
}

TEST(Changes, OfWhichOneIsForNothingAreRefusedByItsName) {
  auto trace = trace_of_threads(1);
  trace.malloc(0, 100, 0x1000, 100, chosen);
  try {
    const PlanOf plan(trace, {{{Change::arena, 0}, {Change::reserve, 0}}, {0, 0, 1, 2}, {}});
    FAIL();
  } catch (const trace::TraceError& error) {
    EXPECT_STREQ(error.what(), "reserve: no block of these sites grows: there is nothing to reserve");
  }
}

TEST(Change, CountsReallocsOfBlocksFromElsewhere) {
  auto trace = trace_of_threads(1);
  trace.malloc(0, 100, 0x1000, 100);
  trace.realloc(0, 200, 0x1000, 0x2000, 200, chosen);
  trace.malloc(0, 300, 0x3000, 100, chosen);
  trace.free(0, 400, 0x2000);
  const PlanOf plan(trace, request_of(Change::arena));
  EXPECT_EQ(plan.header().changed[0].foreign_moves, 1u);
  EXPECT_EQ(plan.header().changed[0].blocks, 1u);
}

// Of each kind: reallocs keep the bytes, and aligned blocks go back as they came.
class Served : public testing::TestWithParam<Change> {};

TEST_P(Served, BlocksOfAllSizesAndAlignmentsComeAndGo) {
  auto trace = trace_of_threads(2);
  std::uint64_t time_ns = 0;
  for (std::uint64_t round = 0; round < 3; ++round) {
    for (std::uint64_t i = 0; i < 600; ++i) {
      trace.malloc(i % 2 == 0 ? 0 : 1, time_ns += 100, 0x10000 + i * 0x1000, 1 + i * 5 % 1500, chosen);
    }
    for (std::uint64_t i = 0; i < 600; i += 3) {
      const auto address = 0x10000 + i * 0x1000;
      trace.realloc(i % 2 == 0 ? 0 : 1, time_ns += 100, address, address, 700, chosen);
    }
    for (std::uint64_t i = 0; i < 600; ++i) {
      trace.free(i % 2 == 0 ? 0 : 1, time_ns += 100, 0x10000 + i * 0x1000);
    }
  }
  const PlanOf plan(trace, request_of(GetParam()));
  EXPECT_EQ(plan.header().changed[0].blocks, 1800u);
  EXPECT_EQ(plan.header().changed[0].never_freed, 0u);
  run_both(plan);
}

INSTANTIATE_TEST_SUITE_P(Parts, Served,
                         testing::Values(Change::arena, Change::node_pool, Change::buffer_cache,
                                         Change::segregate, Change::reuse));

// As libheapwright-apply.so does it: a block is where its last allocating call puts it.
class SiteHeaps : public testing::TestWithParam<Change> {};

TEST_P(SiteHeaps, AReallocAtAnotherSiteMovesABlockOutAndIn) {
  auto trace = trace_of_threads(1);
  trace.malloc(0, 100, 0x1000, 100, chosen);
  trace.realloc(0, 200, 0x1000, 0x2000, 200);
  trace.realloc(0, 300, 0x2000, 0x3000, 300, chosen);
  trace.realloc(0, 400, 0x3000, 0x4000, 400, chosen);
  trace.free(0, 500, 0x4000);
  trace.malloc(0, 600, 0x5000, 100);
  trace.realloc(0, 700, 0x5000, 0x6000, 50, chosen);
  trace.realloc(0, 800, 0x6000, 0x7000, 60);
  trace.free(0, 900, 0x7000);
  const PlanOf plan(trace, request_of(GetParam()));
  const std::vector<unsigned> expected = {serve_make, serve_leave,   serve_make,
                                          serve_make, serve_release, number_of(trace::EventKind::malloc_),
                                          serve_make, serve_leave,   number_of(trace::EventKind::free_)};
  EXPECT_EQ(kinds_of(plan, 0), expected);
  EXPECT_EQ(plan.header().changed[0].blocks, 3u);
  EXPECT_EQ(plan.header().changed[0].foreign_moves, 0u);
  EXPECT_EQ(plan.header().changed[0].never_freed, 0u);
  run_both(plan);
}

INSTANTIATE_TEST_SUITE_P(OfRemedies, SiteHeaps, testing::Values(Change::segregate, Change::reuse));

TEST(SiteHeap, AReallocMovesABlockFromOnePartsHeapToTheOthers) {
  auto trace = trace_of_threads(1);
  trace.malloc(0, 100, 0x1000, 100, chosen);
  trace.realloc(0, 200, 0x1000, 0x2000, 200, chosen + 1);
  trace.free(0, 300, 0x2000);
  const PlanOf plan(trace, {{{Change::segregate, 0}, {Change::reuse, 0}}, {0, 0, 1, 2}, {}});
  const std::vector<unsigned> expected = {serve_make, serve_make + 1, serve_release + 1};
  EXPECT_EQ(kinds_of(plan, 0), expected);
  run_both(plan);
}

}  // namespace
}  // namespace heapwright::replay
