// SPDX-License-Identifier: MIT
#include "replay/operation_times.hpp"

#include <map>
#include <utility>

#include "replay/dependency_order.hpp"
#include "replay/plan_of.hpp"
#include "replay/time_sums.hpp"

namespace heapwright::replay {
namespace {

class TimesFile {
 public:
  TimesFile() {
    const int descriptor = mkstemp(path_.data());
    if (descriptor >= 0) close(descriptor);
  }
  ~TimesFile() { std::remove(path_.c_str()); }
  TimesFile(const TimesFile&) = delete;
  TimesFile& operator=(const TimesFile&) = delete;

  const char* path() const noexcept { return path_.c_str(); }

 private:
  std::string path_ = ::testing::TempDir() + "times-XXXXXX";
};

// Blocks of stack 3 that thread 1 releases, one of stack 5 that grows by a call of stack 7.
order::MemoryTrace three_stacks() {
  auto trace = trace_of_threads(2);
  for (std::uint64_t i = 1; i <= 10; ++i) {
    trace.malloc(0, i * 1000, 0x1000 * i, 100, 3);
    trace.free(1, i * 1000 + 500, 0x1000 * i);
  }
  trace.malloc(0, 20'000, 0x20000, 60, 5);
  trace.realloc(0, 21'000, 0x20000, 0x30000, 5000, 7);
  trace.free(0, 22'000, 0x30000);
  return trace;
}

TEST(OperationTime, TheLeastStaysAndNothingIsNotKnown) {
  OperationTime time;
  EXPECT_FALSE(time.is_known());
  time.fold(30, 5);
  time.fold(20, 9);
  time.fold(25, 0);
  EXPECT_TRUE(time.is_known());
  EXPECT_EQ(time.call_ticks(), 20u);
  EXPECT_EQ(time.touch_ticks(), 0u);
}

TEST(TimeSums, AReleaseBelongsToTheStackThatMadeTheBlock) {
  auto trace = three_stacks();
  const PlanOf plan(trace);
  const TimesFile file;
  {
    Stage stage(plan.path());
    OperationTimes times(file.path(), stage.plan());
    DependencyOrder order(stage, false, &times);
    order.run();
  }
  const PlanFile read(plan.path());
  OperationTimes times(file.path(), read);
  const TimeSums sums(read, times);
  ASSERT_EQ(sums.stacks().size(), 8u);
  EXPECT_EQ(sums.stacks()[3].calls, 20u);
  EXPECT_EQ(sums.stacks()[5].calls, 1u);
  EXPECT_EQ(sums.stacks()[7].calls, 2u);
  EXPECT_EQ(sums.stacks()[0].calls, 0u);  // begins and ends of threads are no calls
  std::map<std::pair<unsigned, std::uint64_t>, std::uint64_t> calls;
  for (const auto& [group, of_group] : sums.groups()) {
    calls[{group.kind, group.largest_bytes}] = of_group.calls();
  }
  const auto kind_of = [](trace::EventKind kind) { return static_cast<unsigned>(kind); };
  const decltype(calls) expected = {{{kind_of(trace::EventKind::malloc_), 64}, 1},
                                    {{kind_of(trace::EventKind::malloc_), 128}, 10},
                                    {{kind_of(trace::EventKind::realloc_), 8192}, 1},
                                    {{kind_of(trace::EventKind::free_), 128}, 10},
                                    {{kind_of(trace::EventKind::free_), 8192}, 1}};
  EXPECT_EQ(calls, expected);
}

// Its second half, in which nothing is made: 20 blocks are freed that lived at its begin.
TEST(TimeSums, BlocksFromBeforeAWindowAreNotInItsTimes) {
  auto trace = trace_of_threads(1);
  for (std::uint64_t i = 1; i <= 20; ++i) trace.malloc(0, i * 1000, 0x1000 * i, 100, 3);
  for (std::uint64_t i = 1; i <= 20; ++i) trace.free(0, (20 + i) * 1000, 0x1000 * i);
  trace.end_record.time_ns = 50'000;
  trace::MemorySample most;
  most.time_ns = 40'000;
  most.resident_anonymous_bytes = 1'000'000;
  trace.samples.push_back(most);
  const PlanOf plan(trace, {}, 20);
  ASSERT_EQ(plan.header().earlier_blocks, 20u);
  const TimesFile file;
  for (int run = 0; run < 2; ++run) {
    Stage stage(plan.path());
    OperationTimes times(file.path(), stage.plan());
    DependencyOrder order(stage, false, &times);
    order.run();
  }
  const PlanFile read(plan.path());
  OperationTimes times(file.path(), read);
  const TimeSums sums(read, times);
  EXPECT_EQ(sums.stacks()[3].calls, 20u) << "their releases";
  ASSERT_EQ(sums.groups().size(), 1u);
  EXPECT_EQ(sums.groups().begin()->first.kind, static_cast<unsigned>(trace::EventKind::free_));
}

TEST(TimeSums, ASumIsThatOfTheLeastTimes) {
  auto trace = three_stacks();
  const PlanOf plan(trace);
  const TimesFile file;
  const PlanFile read(plan.path());
  OperationTimes times(file.path(), read);
  for (std::uint32_t lane = 0; lane < read.header().lanes; ++lane) {
    const auto operations = plan.operations(lane);
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (operations[i].is_control()) continue;
      times.of_lane(lane)[i].fold(100, 7);
      times.of_lane(lane)[i].fold(50, 9);
    }
  }
  const TimeSums sums(read, times);
  EXPECT_EQ(sums.stacks()[3].ticks, 20u * 57);
  EXPECT_EQ(sums.stacks()[7].ticks, 2u * 57);
  EXPECT_NE(sums.json().find("\"stacks\":[3,5,7],\"stack_calls\":[20,1,2]"), std::string::npos)
      << sums.json();
  // Over all sizes: 1 malloc of 64 bytes or less and 10 up to 128, each 50 ticks.
  const std::string json = sums.json();
  const std::size_t functions = json.find("\"functions\":");
  ASSERT_NE(functions, std::string::npos) << json;
  EXPECT_NE(json.find("\"function\":\"malloc\",\"calls\":11,\"ticks\":550", functions), std::string::npos)
      << json;
}

// Stacks 3 and 7 are of site 1, which has 22 calls: 20 of them are known by function and size.
TEST(TimeSums, ASiteHasThePercentilesOfItsStacks) {
  auto trace = three_stacks();
  for (std::uint64_t i = 0; i < 10; ++i) {
    trace.malloc(0, 30'000 + i * 10, 0x50000 + i * 0x1000, 120, 7);
  }
  const PlanOf plan(trace);
  const TimesFile file;
  const PlanFile read(plan.path());
  OperationTimes times(file.path(), read);
  std::uint64_t ticks = 0;
  for (std::uint32_t lane = 0; lane < read.header().lanes; ++lane) {
    auto* time = times.of_lane(lane);
    for (const Operation& operation : plan.operations(lane)) {
      if (operation.size == 100 || operation.size == 120) ticks += operation.makes() ? 1 : 0;
      if (!operation.is_control()) time->fold(operation.makes() ? ticks : 9, 5000);
      ++time;
    }
  }
  ASSERT_EQ(ticks, 20u);
  const std::string json = TimeSums(read, times, {0, 0, 0, 1, 0, 0, 0, 1}).json();
  const std::string expected =
      "\"site_groups\":[{\"site\":1,\"function\":\"malloc\",\"largest_bytes\":128,\"calls\":20,"
      "\"p50_ticks\":10,\"p99_ticks\":20,\"p999_ticks\":20}]}";
  EXPECT_NE(json.find(expected), std::string::npos) << json;
  EXPECT_NE(TimeSums(read, times).json().find("\"site_groups\":[]}"), std::string::npos);
}

TEST(TimeSums, ASiteWithLessThanAThousandthOfTheTimeHasNoPercentiles) {
  auto trace = trace_of_threads(1);
  for (std::uint64_t i = 0; i < 40; ++i) trace.malloc(0, 100 + i, 0x1000 * (i + 1), 40, 1 + i % 2);
  const PlanOf plan(trace);
  const PlanFile read(plan.path());
  for (const auto& [ticks, is_known] : {std::pair{1'010U, true}, {990U, false}}) {
    const TimesFile file;
    OperationTimes times(file.path(), read);
    auto* time = times.of_lane(0);
    std::uint32_t stack = 0;
    for (const Operation& operation : plan.operations(0)) {
      if (!operation.is_control()) time->fold(stack++ % 2 == 0 ? ticks : 1'000'000, 0);
      ++time;
    }
    const std::string json = TimeSums(read, times, {0, 7, 8}).json();
    EXPECT_EQ(json.find("{\"site\":7,") != std::string::npos, is_known) << json;
    EXPECT_NE(json.find("{\"site\":8,"), std::string::npos) << json;
  }
}

// Of the program's threads, from block to block; what is put off takes them nothing.
TEST(TimeSums, TheLongestRowOfFrees) {
  auto trace = trace_of_threads(1);
  for (std::uint64_t number = 0; number < 9; ++number) {
    trace.malloc(0, 100 + number, 0x1000 * (number + 1), 40, number < 4 ? 2 : 3);
  }
  for (std::uint64_t number = 0; number < 5; ++number) trace.free(0, 200 + number, 0x1000 * (number + 1));
  trace.malloc(0, 300, 0x20000, 40, 3);
  for (std::uint64_t number = 5; number < 9; ++number) trace.free(0, 400 + number, 0x1000 * (number + 1));
  const auto longest = [&](const ChangeRequest& change) {
    const PlanOf plan(trace, change);
    const TimesFile file;
    const PlanFile read(plan.path());
    OperationTimes times(file.path(), read);
    for (std::uint32_t lane = 0; lane < read.header().lanes; ++lane) {
      auto* time = times.of_lane(lane);
      for (const Operation& operation : plan.operations(lane)) {
        if (!operation.is_control()) time->fold(50, 7);
        ++time;
      }
    }
    return TimeSums(read, times).longest_row_ticks();
  };
  EXPECT_EQ(longest({}), 5u * 50);
  EXPECT_EQ(longest({{{Change::deferred_free, 10}}, {0, 0, 1}, {}}), 4u * 50);
}

TEST(OperationTimesDeathTest, TimesOfAnotherPlanAreRefused) {
  auto trace = three_stacks();
  const PlanOf plan(trace);
  const TimesFile file;
  std::FILE* other = std::fopen(file.path(), "w");
  ASSERT_NE(other, nullptr);
  std::fputs("too short", other);
  std::fclose(other);
  const PlanFile read(plan.path());
  EXPECT_EXIT(OperationTimes(file.path(), read), ::testing::ExitedWithCode(2), "belong to another plan");
}

}  // namespace
}  // namespace heapwright::replay
