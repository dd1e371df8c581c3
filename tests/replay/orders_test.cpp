// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <unistd.h>

#include <random>

#include "replay/dependency_order.hpp"
#include "replay/plan_of.hpp"
#include "replay/recorded_order.hpp"
#include "replay/report_reading.hpp"

namespace heapwright::replay {
namespace {

// Threads that make and release each other's blocks; thread 3 comes and goes.
order::MemoryTrace exchange(std::uint64_t calls) {
  std::mt19937_64 random(5);
  auto trace = trace_of_threads(4);
  trace.thread_records[3].exit_ns = 100 * calls / 2;
  std::vector<std::uint64_t> live;
  std::uint64_t fresh = 0x1000;
  for (std::uint64_t i = 1; i <= calls; ++i) {
    const auto thread = static_cast<std::uint32_t>(random() % (i < calls / 2 ? 4 : 3));
    const auto choice = random() % 5;
    const std::size_t at = live.empty() ? 0 : random() % live.size();
    if (live.size() < 10 || choice < 2) {
      trace.malloc(thread, i * 100, fresh, 1 + random() % 3000);
      live.push_back(fresh);
      fresh += 4096;
    } else if (choice == 2) {
      trace.realloc(thread, i * 100, live[at], fresh, 1 + random() % 30'000);
      live[at] = fresh;
      fresh += 4096;
    } else {
      trace.free(thread, i * 100, live[at]);
      live[at] = live.back();
      live.pop_back();
    }
  }
  // Nothing is left that a sanitizer would call a leak.
  for (std::size_t i = 0; i < live.size(); ++i) trace.free(0, (calls + 1 + i) * 100, live[i]);
  return trace;
}

TEST(RecordedOrder, ThreadsTakeTurnsToTheEnd) {
  auto trace = exchange(30'000);
  const PlanOf plan(trace);
  Stage stage(plan.path());
  RecordedOrder order(stage, 0, 0);
  order.run();
  for (std::uint32_t lane = 0; lane < stage.lane_count(); ++lane) {
    EXPECT_TRUE(stage.lane(lane).operations.is_at_end()) << lane;
    EXPECT_EQ(stage.lane(lane).thread, pthread_t{}) << lane;
  }
}

TEST(RecordedOrder, APacedReplayTakesItsShareOfTheRecordedTime) {
  auto trace = trace_of_threads(1);
  read_memory_at(trace, 1000);
  trace.malloc(0, 2000, 0x1000, 40);
  trace.free(0, 3000, 0x1000);
  read_memory_at(trace, 40'001'000);
  const PlanOf plan(trace);
  Stage stage(plan.path());
  RecordedOrder order(stage, 0, 0.5);
  const auto start_ns = figures::now_ns();
  order.run();
  EXPECT_GE(figures::now_ns() - start_ns, 20'000'000u);
}

TEST(DependencyOrder, EveryCallIsMadeAndTimed) {
  auto trace = exchange(30'000);
  const PlanOf plan(trace);
  Stage stage(plan.path());
  DependencyOrder order(stage, false);
  order.run();
  figures::Report report;
  order.report(report);
  report.finish();
  EXPECT_EQ(figure_of(report, "calls"), static_cast<double>(trace.event_count()));
  const auto sum =
      figure_of(report, "allocate_ns") + figure_of(report, "realloc_ns") + figure_of(report, "free_ns");
  EXPECT_NEAR(figure_of(report, "calls_ns"), sum, sum / 1000);
  EXPECT_GE(figure_of(report, "max_ns"), figure_of(report, "p999_ns"));
}

TEST(DependencyOrder, AThreadWaitsForTheBlockThatAnotherMakes) {
  auto trace = trace_of_threads(3);
  std::uint64_t time_ns = 100;
  // Each block goes through all threads: made by one, moved by the next, released by the third.
  for (std::uint64_t i = 0; i < 5'000; ++i, time_ns += 300) {
    const auto thread = static_cast<std::uint32_t>(i % 3);
    trace.malloc(thread, time_ns, 0x1000, 100);
    trace.realloc((thread + 1) % 3, time_ns + 100, 0x1000, 0x2000, 200);
    trace.free((thread + 2) % 3, time_ns + 200, 0x2000);
  }
  const PlanOf plan(trace);
  Stage stage(plan.path());
  DependencyOrder order(stage, false);
  order.run();
  for (std::uint32_t lane = 0; lane < stage.lane_count(); ++lane) {
    EXPECT_TRUE(stage.lane(lane).operations.is_at_end());
  }
}

TEST(DependencyOrder, ADryRunMakesNoCall) {
  auto trace = trace_of_threads(2);
  trace.malloc(0, 100, 0x1000, std::uint64_t{1} << 43U);  // no machine has as much
  trace.free(1, 300, 0x1000);
  const PlanOf plan(trace);
  Stage stage(plan.path());
  DependencyOrder order(stage, true);
  order.run();
  EXPECT_TRUE(stage.lane(1).operations.is_at_end());
}

// Changes one word of the plan's file.
template <typename Value>
void overwrite(const PlanOf& plan, std::uint64_t offset, Value value) {
  const int descriptor = open(plan.path(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(pwrite(descriptor, &value, sizeof(value), static_cast<off_t>(offset)),
            static_cast<ssize_t>(sizeof(value)));
  close(descriptor);
}

void run_recorded(const PlanOf& plan) {
  Stage stage(plan.path());
  RecordedOrder order(stage, 0, 0);
  order.run();
}

TEST(DamagedPlan, IsRefused) {
  auto trace = exchange(100);
  const PlanOf plan(trace);
  const auto operations = plan.operations(0);
  std::size_t call = 0;
  while (operations[call].is_control()) ++call;
  const auto lane_offset = PlanFile(plan.path()).lanes()[0].offset + call * sizeof(Operation);
  Operation operation = operations[call];
  const Operation good = operation;
  const auto is_refused = testing::ExitedWithCode(2);

  operation.slot = 1'000'000;
  overwrite(plan, lane_offset, operation);
  EXPECT_EXIT(run_recorded(plan), is_refused, "damaged");
  operation = good;
  operation.generation = 8;
  overwrite(plan, lane_offset, operation);
  EXPECT_EXIT(run_recorded(plan), is_refused, "damaged");
  operation = good;
  operation.kind = static_cast<unsigned>(trace::EventKind::mmap_) & 0x7fU;
  overwrite(plan, lane_offset, operation);
  EXPECT_EXIT(run_recorded(plan), is_refused, "damaged");
  operation = good;
  operation.kind = join_thread;
  operation.slot = 1;
  overwrite(plan, lane_offset, operation);
  EXPECT_EXIT(run_recorded(plan), is_refused, "damaged");
  overwrite(plan, lane_offset, good);

  overwrite(plan, plan.header().turns_offset, Turn{77, 1});
  EXPECT_EXIT(run_recorded(plan), is_refused, "damaged");
  overwrite(plan, plan.header().turns_offset, Turn{plan.header().main_lane, 1'000'000});
  EXPECT_EXIT(run_recorded(plan), is_refused, "damaged");
  overwrite(plan, offsetof(Header, lanes), std::uint32_t{4'000'000'000U});
  EXPECT_EXIT(run_recorded(plan), is_refused, "damaged");
  EXPECT_EXIT(Stage stage("/nonexistent/plan"), is_refused, "cannot read the plan");
}

}  // namespace
}  // namespace heapwright::replay
