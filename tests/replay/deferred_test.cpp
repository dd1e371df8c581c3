// SPDX-License-Identifier: MIT
// Frees that a change puts off, or leaves out.
#include "replay/changed_plans.hpp"
#include "replay/report_reading.hpp"

namespace heapwright::replay {
namespace {

constexpr std::uint64_t ms = 1'000'000;

order::MemoryTrace long_trace(std::uint32_t threads) {
  auto trace = trace_of_threads(threads);
  trace.end_record.time_ns = 1000 * ms;
  return trace;
}

ChangeRequest deferred(std::uint32_t wait_ms) { return request_of({Change::deferred_free, wait_ms}); }

std::vector<std::uint64_t> sizes_of(const PlanOf& plan, std::uint32_t lane) {
  std::vector<std::uint64_t> found;
  for (const Operation& operation : plan.operations(lane)) {
    if (!operation.is_control()) found.push_back(operation.size);
  }
  return found;
}

TEST(DeferredFree, IsDoneByAnotherThreadWhenItsTimeHasCome) {
  auto trace = long_trace(1);
  trace.malloc(0, 1 * ms, 0x1000, 40, chosen);
  trace.malloc(0, 2 * ms, 0x2000, 48, chosen);
  trace.malloc(0, 3 * ms, 0x3000, 56);
  trace.free(0, 4 * ms, 0x1000);
  trace.free(0, 5 * ms, 0x3000);
  trace.free(0, 6 * ms, 0x2000);
  trace.malloc(0, 13 * ms, 0x1000, 64, chosen);  // before the row is due
  trace.malloc(0, 15 * ms, 0x2000, 72, chosen);  // behind it
  const PlanOf plan(trace, deferred(10));
  const auto malloc_kind = number_of(trace::EventKind::malloc_);
  const auto free_kind = number_of(trace::EventKind::free_);
  EXPECT_EQ(kinds_of(plan, 0), (std::vector<unsigned>{malloc_kind, malloc_kind, malloc_kind, serve_later,
                                                      free_kind, serve_later, malloc_kind, malloc_kind}));
  ASSERT_EQ(plan.header().background_lane, 2u);
  EXPECT_EQ(kinds_of(plan, 2), (std::vector<unsigned>{free_kind, free_kind}));
  EXPECT_EQ(sizes_of(plan, 2), (std::vector<std::uint64_t>{40, 48}));
  const std::vector<Turn> turns = plan.turns();
  ASSERT_EQ(turns.size(), 3u);
  EXPECT_EQ(turns[0].count, 8u) << "seven calls, and the beginning of the other thread";
  EXPECT_EQ(turns[1].lane, 2u);
  const ChangeCounts& counts = plan.header().changed[0];
  EXPECT_EQ(counts.blocks, 2u);
  EXPECT_EQ(counts.bytes, 88u);
  EXPECT_EQ(counts.events, 1u) << "a row, whatever else is freed in it";
  EXPECT_EQ(counts.most_waiting_bytes, 88u);
  EXPECT_EQ(counts.never_freed, 2u);
  EXPECT_EQ(plan.header().peak_live_bytes, 40u + 48 + 64) << "what waits counts";
  run_both(plan);
}

TEST(DeferredFree, BlocksThatAreMadeBetweenEndARow) {
  auto trace = long_trace(1);
  for (std::uint64_t number = 0; number < 3; ++number) {
    trace.malloc(0, 1 * ms + number, 0x1000 * (number + 1), 40, chosen);
  }
  trace.free(0, 2 * ms, 0x1000);
  trace.malloc(0, 3 * ms, 0x9000, 16);
  trace.free(0, 4 * ms, 0x2000);
  trace.free(0, 20 * ms, 0x3000);  // long behind the row's time
  const PlanOf plan(trace, deferred(10));
  EXPECT_EQ(plan.header().changed[0].events, 3u);
  EXPECT_EQ(plan.header().changed[0].most_waiting_bytes, 80u);
  EXPECT_EQ(kinds_of(plan, 2).size(), 3u) << "the last one at the end";
  run_both(plan);
}

TEST(DeferredFree, IsDoneByAThreadThatEnds) {
  auto trace = long_trace(2);
  trace.malloc(1, 1 * ms, 0x1000, 40, chosen);
  trace.free(1, 2 * ms, 0x1000);
  trace.malloc(0, 50 * ms, 0x1000, 16);
  trace.thread_records[1].exit_ns = 3 * ms;
  const PlanOf plan(trace, deferred(10));
  const auto malloc_kind = number_of(trace::EventKind::malloc_);
  const auto free_kind = number_of(trace::EventKind::free_);
  EXPECT_EQ(kinds_of(plan, 1), (std::vector<unsigned>{malloc_kind, serve_later, free_kind}));
  EXPECT_EQ(plan.header().changed[0].freed_by_caller, 1u);
  EXPECT_TRUE(kinds_of(plan, 3).empty());
  run_both(plan);
}

TEST(DeferredFree, IsDoneByTheThreadItselfWhereTooManyWait) {
  auto trace = long_trace(1);
  constexpr std::uint64_t rows = 4096 + 1;
  for (std::uint64_t row = 0; row < rows; ++row) {
    const auto begin = row * 100;
    trace.malloc(0, begin, 0x1000 + row * 64, 40, chosen);
    trace.free(0, begin + 50, 0x1000 + row * 64);
  }
  const PlanOf plan(trace, deferred(100));
  EXPECT_EQ(plan.header().changed[0].events, rows);
  EXPECT_EQ(plan.header().changed[0].freed_by_caller, 64u);
  EXPECT_EQ(kinds_of(plan, 2).size(), rows - 64);
  run_both(plan);
}

TEST(DeferredFree, OfABlockThatWasReallocated) {
  auto trace = long_trace(2);
  trace.malloc(0, 1 * ms, 0x1000, 40, chosen);
  trace.realloc(1, 2 * ms, 0x1000, 0x2000, 80);
  trace.free(1, 3 * ms, 0x2000);
  trace.malloc(0, 90 * ms, 0x1000, 16);
  const PlanOf plan(trace, deferred(10));
  EXPECT_EQ(sizes_of(plan, 3), std::vector<std::uint64_t>{80});
  EXPECT_EQ(plan.header().changed[0].bytes, 80u);
  run_both(plan);
}

TEST(DeferredFree, OfBlocksThatAreNeverFreedIsRefused) {
  auto trace = long_trace(1);
  trace.malloc(0, 1 * ms, 0x1000, 40, chosen);
  EXPECT_NE(refusal_of(trace, Change::deferred_free).find("no block of these sites is freed"),
            std::string::npos);
}

// Its percentiles and rows are those of the program's threads.
TEST(DeferredFree, OfOthersIsNoCallOfTheProgram) {
  auto trace = long_trace(1);
  for (std::uint64_t number = 0; number < 100; ++number) {
    trace.malloc(0, 1 * ms + number, 0x1000 * (number + 1), 40, chosen);
  }
  for (std::uint64_t number = 0; number < 100; ++number)
    trace.free(0, 2 * ms + number, 0x1000 * (number + 1));
  const PlanOf plan(trace, deferred(10));
  Stage stage(plan.path());
  DependencyOrder order(stage, false);
  order.run();
  figures::Report report;
  order.report(report);
  EXPECT_EQ(figure_of(report, "calls"), 200);
}

TEST(ExitPolicy, LeavesOutTheFreesBehindTheLastBlock) {
  auto trace = trace_of_threads(2);
  trace.malloc(0, 100, 0x1000, 40, chosen);
  trace.free(0, 200, 0x1000);
  trace.malloc(0, 300, 0x2000, 48, chosen);
  trace.malloc(1, 400, 0x3000, 56, chosen);
  trace.malloc(0, 500, 0x4000, 16);
  trace.free(1, 600, 0x2000);
  trace.free(0, 700, 0x4000);
  trace.free(0, 800, 0x3000);
  const PlanOf plan(trace, request_of(Change::exit_policy));
  const auto malloc_kind = number_of(trace::EventKind::malloc_);
  const auto free_kind = number_of(trace::EventKind::free_);
  EXPECT_EQ(kinds_of(plan, 0),
            (std::vector<unsigned>{malloc_kind, free_kind, malloc_kind, malloc_kind, free_kind, serve_drop}));
  EXPECT_EQ(kinds_of(plan, 1), (std::vector<unsigned>{malloc_kind, serve_drop}));
  EXPECT_EQ(plan.header().changed[0].blocks, 2u);
  EXPECT_EQ(plan.header().changed[0].bytes, 104u);
  run_both(plan);
}

TEST(ExitPolicy, WithoutSuchFreesIsRefused) {
  auto trace = trace_of_threads(1);
  trace.malloc(0, 100, 0x1000, 40, chosen);
  trace.free(0, 200, 0x1000);
  trace.malloc(0, 300, 0x1000, 40, chosen);
  EXPECT_NE(refusal_of(trace, Change::exit_policy).find("is freed after the last one that is made there"),
            std::string::npos);
}

}  // namespace
}  // namespace heapwright::replay
