// SPDX-License-Identifier: MIT
#include "replay/make_plan.hpp"

#include <map>
#include <random>
#include <set>

#include "replay/plan_of.hpp"
#include "replay/report_reading.hpp"

namespace heapwright::replay {
namespace {

using trace::EventKind;

constexpr auto kind_number(EventKind kind) { return static_cast<unsigned>(kind); }

TEST(MakePlan, AReallocKeepsItsBlocksSlotAndAddsTwoGenerations) {
  auto trace = trace_of_threads(1);
  trace.malloc(0, 100, 0x1000, 40);
  trace.realloc(0, 200, 0x1000, 0x2000, 80);
  trace.free(0, 300, 0x2000);
  trace.malloc(0, 400, 0x3000, 24);
  const PlanOf plan(trace);
  const auto operations = plan.operations(0);
  ASSERT_EQ(operations.size(), 4u);
  EXPECT_EQ(operations[0].kind, kind_number(EventKind::malloc_));
  EXPECT_EQ(operations[1].kind, kind_number(EventKind::realloc_));
  EXPECT_EQ(operations[2].kind, kind_number(EventKind::free_));
  EXPECT_EQ(operations[1].size, 80u);
  EXPECT_EQ(operations[2].size, 80u);
  for (const auto& operation : operations) EXPECT_EQ(operation.slot, operations[0].slot);
  EXPECT_EQ(operations[0].generation, 0u);
  EXPECT_EQ(operations[1].generation, 1u);
  EXPECT_EQ(operations[2].generation, 3u);
  EXPECT_EQ(operations[3].generation, 4u);
  EXPECT_EQ(plan.header().peak_live_bytes, 80u);
}

TEST(MakePlan, ACutRecordingEndsWithItsLastReading) {
  auto trace = trace_of_threads(1);
  trace.end_record = {};
  read_memory_at(trace, 500);
  trace.malloc(0, 1'000, 0x1000, 40);
  read_memory_at(trace, 9'000);
  EXPECT_EQ(PlanOf(trace).header().end_ns, 9'000u);
}

TEST(MakePlan, AThreadBeginsWithItsFirstCallAndIsJoinedBehindItsEnd) {
  auto trace = trace_of_threads(2);
  trace.thread_records[1].exit_ns = 500;
  trace.malloc(0, 100, 0x1000, 40);
  trace.free(1, 300, 0x1000);
  trace.malloc(0, 900, 0x2000, 40);
  const PlanOf plan(trace);
  const auto main = plan.operations(0);
  ASSERT_EQ(main.size(), 4u);
  EXPECT_EQ(main[1].kind, start_thread);
  EXPECT_EQ(main[1].slot, 1u);
  EXPECT_EQ(main[2].kind, join_thread);
  EXPECT_EQ(main[2].slot, 1u);
  const auto turns = plan.turns();
  ASSERT_EQ(turns.size(), 3u);
  EXPECT_EQ(turns[0].count, 2u);
  EXPECT_EQ(turns[1].lane, 1u);
  EXPECT_EQ(turns[2].count, 2u);
}

TEST(MakePlan, AnExitThatWasNoticedLateComesBehindTheLastCall) {
  auto trace = trace_of_threads(3);
  trace.thread_records[1].exit_ns = 2'000'000;
  trace.thread_records[2].exit_ns = 900'000'000;
  trace.malloc(1, 100, 0x1000, 40);
  trace.malloc(2, 1'000'000, 0x2000, 40);
  trace.malloc(0, 500'000'000, 0x3000, 40);
  const PlanOf plan(trace);
  std::vector<std::uint8_t> kinds;
  for (const auto& operation : plan.operations(0)) kinds.push_back(operation.kind);
  const std::vector<std::uint8_t> expected{start_thread, join_thread, start_thread,
                                           static_cast<std::uint8_t>(EventKind::malloc_), join_thread};
  EXPECT_EQ(kinds, expected);
}

TEST(MakePlan, TheFirstThreadBeginsAllOthers) {
  auto trace = trace_of_threads(3);
  trace.malloc(0, 100, 0x1000, 40);
  trace.malloc(1, 300, 0x2000, 40);
  trace.malloc(2, 500, 0x3000, 40);
  const PlanOf plan(trace);
  const auto main = plan.operations(0);
  ASSERT_EQ(main.size(), 3u);
  EXPECT_EQ(main[2].kind, start_thread);
  EXPECT_EQ(main[2].slot, 2u);
}

TEST(MakePlan, AThreadWhoseLastCallWasTheLastIsJoinedByTheFirst) {
  auto trace = trace_of_threads(2);
  trace.thread_records[1].exit_ns = 500;
  trace.malloc(0, 100, 0x1000, 40);
  trace.free(1, 300, 0x1000);
  const PlanOf plan(trace);
  const auto main = plan.operations(0);
  ASSERT_EQ(main.size(), 3u);
  EXPECT_EQ(main[2].kind, join_thread);
}

TEST(MakePlan, WithoutCallsOfTheFirstThreadALaneIsAdded) {
  auto trace = trace_of_threads(2);
  trace.malloc(1, 100, 0x1000, 40);
  const PlanOf plan(trace);
  EXPECT_EQ(plan.header().lanes, 2u);
  ASSERT_EQ(plan.header().main_lane, 1u);
  const auto main = plan.operations(1);
  ASSERT_EQ(main.size(), 1u);
  EXPECT_EQ(main[0].kind, start_thread);
  EXPECT_EQ(plan.operations(0).size(), 1u);
}

TEST(MakePlan, AnAddressThatAReallocLeftIsAnothersWhileItStillRuns) {
  auto trace = trace_of_threads(2);
  trace.malloc(0, 100, 0x1000, 40);
  trace.realloc(0, 1000, 0x1000, 0x2000, 4000, 1, 1000);
  trace.malloc(1, 1500, 0x1000, 48);
  trace.free(1, 3000, 0x1000);
  trace.free(0, 4000, 0x2000);
  const PlanOf plan(trace);
  EXPECT_EQ(plan.header().before_recording, 0u);
  EXPECT_EQ(plan.header().unseen_releases, 0u);
  const auto other = plan.operations(1);
  ASSERT_EQ(other.size(), 2u);
  EXPECT_EQ(other[0].slot, other[1].slot);
  EXPECT_EQ(other[1].size, 48u);
  const auto main = plan.operations(0);
  EXPECT_EQ(main.back().slot, main.front().slot);
  EXPECT_EQ(main.back().size, 4000u);
}

TEST(MakePlan, WhatItDoesNotKnowIsLeftOutAndCounted) {
  auto trace = trace_of_threads(1);
  trace.free(0, 100, 0x9000);                 // from before the recording
  trace.realloc(0, 200, 0x8000, 0x1000, 8);   // the same: a block is made
  trace.malloc(0, 300, 0, 1 << 30);           // failed
  trace.realloc(0, 400, 0x1000, 0, 1 << 30);  // failed: the old block stays
  trace.free(0, 500, 0);
  trace.malloc(0, 600, 0x1000, 16);     // handed out again: the release was not seen
  trace.realloc(0, 700, 0x1000, 0, 0);  // gives the block back
  const PlanOf plan(trace);
  EXPECT_EQ(plan.header().before_recording, 2u);
  EXPECT_EQ(plan.header().failed, 2u);
  EXPECT_EQ(plan.header().unseen_releases, 1u);
  const auto operations = plan.operations(0);
  ASSERT_EQ(operations.size(), 4u);
  EXPECT_EQ(operations[0].kind, kind_number(EventKind::realloc_));
  EXPECT_EQ(operations[0].generation, 0u);
  EXPECT_EQ(operations[1].kind, kind_number(EventKind::free_));
  EXPECT_EQ(operations[2].kind, kind_number(EventKind::malloc_));
  EXPECT_EQ(operations[3].kind, kind_number(EventKind::free_));
}

TEST(MakePlan, MarksStandWhereTheMemoryWasRead) {
  auto trace = trace_of_threads(1);
  trace.malloc(0, 100, 0x1000, 40);
  trace.malloc(0, 300, 0x2000, 40);
  for (const std::uint64_t time_ns : {200U, 400U}) {
    trace::MemorySample sample;
    sample.time_ns = time_ns;
    sample.resident_anonymous_bytes = time_ns * 4096;
    trace.samples.push_back(sample);
  }
  const PlanOf plan(trace);
  const auto operations = plan.operations(0);
  ASSERT_EQ(operations.size(), 4u);
  EXPECT_EQ(operations[1].kind, take_mark);
  EXPECT_EQ(operations[1].slot, 0u);
  EXPECT_EQ(operations[3].kind, take_mark);
  const PlanFile file(plan.path());
  EXPECT_EQ(file.marks()[1].recorded_bytes, 400u * 4096);
}

TEST(MakePlan, TheMomentWithTheMostMemoryIsAlwaysAMark) {
  auto trace = trace_of_threads(1);
  trace.malloc(0, 100, 0x1000, 40);
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    trace::MemorySample sample;
    sample.time_ns = 200 + i * 16;
    sample.resident_anonymous_bytes = i == 7'777 ? 1 << 30 : 4096;
    trace.samples.push_back(sample);
  }
  const PlanOf plan(trace);
  const PlanFile file(plan.path());
  EXPECT_LT(file.marks().size(), 300u);
  std::uint64_t most = 0;
  for (const Mark& mark : file.marks().first(file.marks().size())) most = std::max(most, mark.recorded_bytes);
  EXPECT_EQ(most, 1u << 30);
}

TEST(MakePlan, DamagedChunksAreCounted) {
  auto trace = trace_of_threads(1);
  trace.chunk_events = 1;
  trace.malloc(0, 100, 0x1000, 40);
  trace.malloc(0, 300, 0x2000, 40);
  trace.damaged_chunks = {1};
  const PlanOf plan(trace);
  EXPECT_EQ(plan.header().damaged_chunks, 1u);
  EXPECT_EQ(plan.header().operations, 1u);
}

// A random program of several threads: every release names the slot and the size of the block it releases,
// and the turns give the recorded order.
TEST(MakePlan, TurnsAndSlotsFollowARandomProgram) {
  std::mt19937_64 random(3);
  auto trace = trace_of_threads(5);
  struct Step {
    std::uint32_t thread;
    bool makes;
    std::uint64_t size;
  };
  std::vector<Step> steps;
  std::map<std::uint64_t, std::uint64_t> live;
  std::uint64_t time_ns = 1000;
  for (int i = 0; i < 20'000; ++i, time_ns += 100) {
    const auto thread = static_cast<std::uint32_t>(random() % 5);
    const std::uint64_t address = 0x1000 + random() % 300 * 64;
    const auto known = live.find(address);
    if (known == live.end()) {
      const std::uint64_t size = 1 + random() % 5000;
      trace.malloc(thread, time_ns, address, size);
      live[address] = size;
      steps.push_back({thread, true, size});
    } else {
      trace.free(thread, time_ns, address);
      steps.push_back({thread, false, known->second});
      live.erase(known);
    }
  }
  const PlanOf plan(trace);
  std::vector<std::vector<Operation>> operations;
  for (std::uint32_t lane = 0; lane < plan.header().lanes; ++lane) {
    operations.push_back(plan.operations(lane));
  }
  const PlanFile file(plan.path());
  std::vector<std::size_t> next(operations.size());
  std::map<std::uint32_t, std::uint32_t> generations;
  std::size_t step = 0;
  for (const Turn& turn : plan.turns()) {
    for (std::uint32_t i = 0; i < turn.count; ++i) {
      const Operation& operation = operations[turn.lane][next[turn.lane]++];
      if (operation.is_control()) continue;
      ASSERT_EQ(operation.generation, generations[operation.slot]++);
      ASSERT_EQ(file.lanes()[turn.lane].thread, steps[step].thread);
      ASSERT_EQ(operation.kind, kind_number(steps[step].makes ? EventKind::malloc_ : EventKind::free_));
      ASSERT_EQ(operation.size, steps[step].size);
      ++step;
    }
  }
  EXPECT_EQ(step, steps.size());
}

}  // namespace
}  // namespace heapwright::replay
