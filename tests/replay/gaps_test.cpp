// SPDX-License-Identifier: MIT
#include "replay/dependency_order.hpp"
#include "replay/due_times.hpp"
#include "replay/plan_of.hpp"
#include "replay/report_reading.hpp"

namespace heapwright::replay {
namespace {

constexpr std::uint64_t cost_ns = 400;
constexpr bool with_times = true;

std::vector<std::uint64_t> due_of(const PlanOf& plan, std::uint32_t lane) {
  const PlanFile file(plan.path());
  std::vector<std::uint64_t> found(file.lanes()[lane].count);
  file.read(file.lanes()[lane].times_offset, found.data(), found.size() * sizeof(std::uint64_t));
  return found;
}

// The recorder spends so much on each call.
order::MemoryTrace costly_trace(std::uint32_t threads) {
  auto trace = trace_of_threads(threads);
  trace.metadata_record.self_cost_allocation_ns = cost_ns;
  trace.metadata_record.self_cost_release_ns = cost_ns;
  return trace;
}

void run_with_gaps(const PlanOf& plan, double rate, figures::Report& report) {
  Stage stage(plan.path());
  DueTimes due(stage.plan(), rate);
  DependencyOrder order(stage, false, nullptr, &due);
  order.run();
  order.report(report);
  report.finish();
}

TEST(Gaps, AreThoseOfTheRecordingWithoutTheRecordersCost) {
  auto trace = costly_trace(1);
  trace.malloc(0, 7'000, 0x1000, 40);
  trace.malloc(0, 8'000, 0x2000, 40);
  trace.free(0, 8'500, 0x1000);
  trace.free(0, 20'000, 0x2000);
  const PlanOf plan(trace, {}, 0, with_times);
  EXPECT_EQ(due_of(plan, 0),
            (std::vector<std::uint64_t>{1, 1'000 - cost_ns, 1'500 - 2 * cost_ns, 13'000 - 3 * cost_ns}));
  EXPECT_EQ(plan.header().program_ns, 13'000 - 3 * cost_ns);
}

TEST(Gaps, ACallIsDueWhenItBeganAndNotWhenItWasOver) {
  auto trace = trace_of_threads(1);
  trace.malloc(0, 1'000, 0x1000, 40);
  trace.malloc(0, 2'000, 0x2000, 40, 1, 30'000);
  trace.realloc(0, 50'000, 0x1000, 0x3000, 90, 1, 9'000);
  const PlanOf plan(trace, {}, 0, with_times);
  EXPECT_EQ(due_of(plan, 0), (std::vector<std::uint64_t>{1, 1'000, 49'000}));
}

// What is spent on a thread with many calls delays those that wait for it: 10,000 calls are 4 ms.
TEST(Gaps, ThreadsStayTogether) {
  auto trace = costly_trace(2);
  for (std::uint64_t i = 0; i < 10'000; ++i) trace.malloc(0, i * 1000, 0x10000 + 64 * i, 40);
  trace.malloc(1, 1'000, 0x1000, 40);
  trace.free(1, 9'999'000, 0x1000);
  const PlanOf plan(trace, {}, 0, with_times);
  const auto busy = due_of(plan, 0);
  const auto idle = due_of(plan, 1);
  EXPECT_NEAR(static_cast<double>(busy[10'001 - 1]), 6'000'000, 10'000) << "one more: it begins the other";
  EXPECT_NEAR(static_cast<double>(idle[1]), 6'000'000, 500'000);
}

TEST(Gaps, AreWaitedForAtTheRateThatIsAskedFor) {
  auto trace = trace_of_threads(2);
  trace.malloc(0, 0, 0x1000, 40);
  trace.malloc(1, 10'000'000, 0x2000, 40);
  trace.free(1, 40'000'000, 0x1000);
  trace.free(0, 60'000'000, 0x2000);
  const PlanOf plan(trace, {}, 0, with_times);
  figures::Report once;
  run_with_gaps(plan, 1, once);
  EXPECT_GE(figure_of(once, "elapsed_ns"), 59'000'000);
  EXPECT_EQ(figure_of(once, "calls"), 4);
  EXPECT_LT(figure_of(once, "calls_ns"), figure_of(once, "elapsed_ns") / 2) << "waiting is no time of calls";
  figures::Report faster;  // by far: a busy machine makes it longer
  run_with_gaps(plan, 20, faster);
  EXPECT_GE(figure_of(faster, "elapsed_ns"), 2'900'000);
  EXPECT_LT(figure_of(faster, "elapsed_ns"), 59'000'000);
}

TEST(Gaps, WhatCannotKeepUpIsLate) {
  auto trace = trace_of_threads(1);
  for (std::uint64_t i = 0; i < 2000; ++i) {
    trace.malloc(0, 10 + i * 32, 0x1000, 1'000'000);
    trace.free(0, 26 + i * 32, 0x1000);
  }
  trace.malloc(0, 100'000'000, 0x1000, 40);
  trace.free(0, 110'000'000, 0x1000);
  const PlanOf plan(trace, {}, 0, with_times);
  figures::Report report;
  run_with_gaps(plan, 1, report);
  EXPECT_GT(figure_of(report, "late_calls"), 2000);
  EXPECT_GE(figure_of(report, "elapsed_ns"), 109'000'000) << "the calls behind it keep their moments";
}

// Two threads, of whose blocks half are made before the window.
order::MemoryTrace half_before() {
  auto trace = trace_of_threads(2);
  for (std::uint64_t i = 0; i < 2000; ++i) {
    trace.malloc(static_cast<std::uint32_t>(i % 2), i * 10'000, 0x10000 + 64 * i, 40);
  }
  read_memory_at(trace, 10'000'000);
  trace.samples.back().resident_anonymous_bytes = 1 << 20;
  trace.end_record.time_ns = 20'000'000;
  return trace;
}

TEST(Gaps, OfAWindowAreItsOwn) {
  auto trace = half_before();
  const PlanOf plan(trace, {}, 1000, with_times);
  ASSERT_GT(plan.header().earlier_blocks, 0u);
  const auto due = due_of(plan, 0);
  EXPECT_EQ(due.front(), 0u) << "made at once";
  EXPECT_NEAR(static_cast<double>(due.back()), 10'000'000, 1'000'000);
  figures::Report report;
  run_with_gaps(plan, 1, report);
  EXPECT_GE(figure_of(report, "elapsed_ns"), 9'000'000);
  EXPECT_NEAR(figure_of(report, "calls"), 1000, 20);
}

TEST(Gaps, OfAWindowBeginWhenAllThreadsHaveMadeWhatLivedBefore) {
  auto trace = half_before();
  const PlanOf plan(trace, {}, 1000, with_times);
  const PlanFile file(plan.path());
  DueTimes due(file, 1000);
  std::atomic<bool> is_over = false;
  due.begin_whole();
  std::thread lane([&] {
    for (auto left = file.lanes()[0].count; left > 0; --left) due.await_next(0, 0);
    is_over = true;
  });
  due.begin_lane();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_FALSE(is_over);
  due.begin_lane();
  lane.join();
}

TEST(Gaps, APlanWithoutTimesIsRefused) {
  auto trace = trace_of_threads(1);
  trace.malloc(0, 1'000, 0x1000, 40);
  const PlanOf plan(trace);
  const PlanFile file(plan.path());
  EXPECT_EXIT(DueTimes(file, 1), ::testing::ExitedWithCode(2), "the plan has no times");
}

}  // namespace
}  // namespace heapwright::replay
