// SPDX-License-Identifier: MIT
#include "replay/window.hpp"

#include <map>
#include <random>

#include "replay/dependency_order.hpp"
#include "replay/plan_of.hpp"
#include "replay/recorded_order.hpp"
#include "replay/report_reading.hpp"

namespace heapwright::replay {
namespace {

constexpr std::uint64_t step_ns = 100;

void read_memory(order::MemoryTrace& trace, std::uint64_t time_ns, std::uint64_t bytes) {
  trace::MemorySample sample;
  sample.time_ns = time_ns;
  sample.resident_anonymous_bytes = bytes;
  trace.samples.push_back(sample);
}

// One call each step_ns.
order::MemoryTrace even_trace(std::uint64_t calls) {
  auto trace = trace_of_threads(1);
  for (std::uint64_t i = 0; i < calls; ++i) trace.malloc(0, i * step_ns, 0x10000 + 64 * i, 40);
  trace.end_record.time_ns = calls * step_ns;
  return trace;
}

TEST(Window, LiesAroundThePeak) {
  auto trace = even_trace(10'000);
  read_memory(trace, 1'000 * step_ns, 5'000);
  read_memory(trace, 7'000 * step_ns, 9'000);
  read_memory(trace, 9'000 * step_ns, 2'000);
  trace.seal();
  const auto window = choose_window(trace, 1'000);
  EXPECT_NEAR(static_cast<double>(window.from_ns), 6'250 * step_ns, 3 * step_ns);
  EXPECT_NEAR(static_cast<double>(window.to_ns), 7'250 * step_ns, 3 * step_ns);
}

TEST(Window, IsTheBeginWithoutReadingsAndTheEndWhereThePeakIs) {
  auto trace = even_trace(10'000);
  trace.seal();
  EXPECT_EQ(choose_window(trace, 1'000).from_ns, 0u);
  EXPECT_NEAR(static_cast<double>(choose_window(trace, 1'000).to_ns), 1'000 * step_ns, 3 * step_ns);
  read_memory(trace, 9'990 * step_ns, 5'000);
  EXPECT_NEAR(static_cast<double>(choose_window(trace, 1'000).from_ns), 9'000 * step_ns, 3 * step_ns);
  EXPECT_EQ(choose_window(trace, 1'000).to_ns, UINT64_MAX);
  EXPECT_FALSE(choose_window(trace, 10'000).is_part());
  EXPECT_FALSE(choose_window(trace, 0).is_part());
}

// Sizes by count.
using Sizes = std::map<std::uint64_t, int>;

// Calls of four threads on each other's blocks; thread 3 ends halfway. model: what lives before each call.
struct RandomTrace {
  order::MemoryTrace trace = trace_of_threads(4);
  std::vector<Sizes> live_before;

  explicit RandomTrace(std::uint64_t calls) {
    std::mt19937_64 random(11);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> live;
    trace.thread_records[3].exit_ns = calls / 3 * step_ns;
    Sizes sizes;
    for (std::uint64_t i = 0; i < calls; ++i) {
      live_before.push_back(sizes);
      const auto thread = static_cast<std::uint32_t>(random() % (i < calls / 3 - 10 ? 4 : 3));
      const std::uint64_t fresh = 0x100000 + 0x10000 * i;
      const std::uint64_t size = 1 + random() % 5000;
      const auto at = live.empty() ? 0 : random() % live.size();
      const auto choice = live.size() < 20 ? 0 : random() % 3;
      if (choice > 0 && --sizes[live[at].second] == 0) sizes.erase(live[at].second);
      if (choice == 0) {
        trace.malloc(thread, i * step_ns, fresh, size);
        live.emplace_back(fresh, size);
      } else if (choice == 1) {
        trace.realloc(thread, i * step_ns, live[at].first, fresh, size);
        live[at] = {fresh, size};
      } else {
        trace.free(thread, i * step_ns, live[at].first);
        live[at] = live.back();
        live.pop_back();
      }
      if (choice < 2) ++sizes[size];
    }
    live_before.push_back(sizes);
    // Nothing is left that a sanitizer would call a leak.
    for (std::size_t i = 0; i < live.size(); ++i) trace.free(0, (calls + 1 + i) * step_ns, live[i].first);
    trace.end_record.time_ns = (calls + 2 + live.size()) * step_ns;
  }
};

// What lives when measuring begins, and at the end, by the plan's operations in their order.
struct Followed {
  Sizes at_begin;
  Sizes at_end;
  std::uint64_t measured_calls = 0;

  explicit Followed(const PlanOf& plan) {
    std::map<std::uint32_t, std::vector<Operation>> operations;
    std::map<std::uint32_t, std::size_t> next;
    std::map<std::uint32_t, std::uint64_t> block;  // size by slot
    for (const auto& turn : plan.turns()) {
      if (!operations.contains(turn.lane)) operations[turn.lane] = plan.operations(turn.lane);
      for (std::uint32_t i = 0; i < turn.count; ++i) {
        const auto& operation = operations[turn.lane][next[turn.lane]++];
        if (operation.kind == begin_measuring) {
          at_begin = sizes_of(block);
          measured_calls = 0;
        }
        if (operation.is_control()) continue;
        ++measured_calls;
        if (operation.makes()) {
          block[operation.slot] = operation.size;
        } else {
          block.erase(operation.slot);
        }
      }
    }
    at_end = sizes_of(block);
  }

  static Sizes sizes_of(const std::map<std::uint32_t, std::uint64_t>& blocks) {
    Sizes sizes;
    for (const auto& [slot, size] : blocks) ++sizes[size];
    return sizes;
  }
};

TEST(Window, BeginsAndEndsWithTheBlocksThatLivedThen) {
  RandomTrace random(6'000);
  read_memory(random.trace, 3'500 * step_ns, 9'000);
  const PlanOf plan(random.trace, {}, 1'000);
  const auto first = (plan.header().begin_ns + step_ns - 1) / step_ns;
  const auto last = (plan.header().end_ns + step_ns - 1) / step_ns;
  const Followed followed(plan);
  EXPECT_EQ(followed.at_begin, random.live_before[first]);
  EXPECT_EQ(followed.at_end, random.live_before[last]);
  EXPECT_EQ(followed.measured_calls, last - first);
  EXPECT_NEAR(static_cast<double>(last - first), 1'000, 150);
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  for (const auto& [size, count] : followed.at_begin) {
    blocks += static_cast<std::uint64_t>(count);
    bytes += size * static_cast<std::uint64_t>(count);
  }
  EXPECT_EQ(plan.header().earlier_blocks, blocks);
  EXPECT_EQ(plan.header().earlier_bytes, bytes);
  EXPECT_EQ(plan.header().before_recording, 0u);
}

TEST(Window, IsMeasuredWithoutWhatComesBefore) {
  RandomTrace random(6'000);
  read_memory(random.trace, 6'000 * step_ns, 9'000);
  const PlanOf plan(random.trace, {}, 1'000);
  const Followed followed(plan);
  figures::Report report;
  {
    Stage stage(plan.path());
    DependencyOrder order(stage, true);
    order.run();
    order.report(report);
  }
  EXPECT_EQ(figure_of(report, "calls"), static_cast<double>(followed.measured_calls));
  Stage stage(plan.path());
  RecordedOrder order(stage, 0, 0);
  order.run();
  for (std::uint32_t lane = 0; lane < stage.lane_count(); ++lane) {
    EXPECT_TRUE(stage.lane(lane).operations.is_at_end()) << lane;
  }
}

// In these the window is the second of two thousand calls.
constexpr std::uint64_t begin_call = 1'000;

order::MemoryTrace two_halves() {
  auto trace = trace_of_threads(3);
  for (std::uint64_t i = 1; i < 2 * begin_call; ++i) {
    trace.malloc(0, i * step_ns, 0x9000, 40);
    trace.free(0, i * step_ns + 50, 0x9000);
  }
  trace.end_record.time_ns = 2 * begin_call * step_ns;
  read_memory(trace, 200 * step_ns, 100'000);
  read_memory(trace, 1'990 * step_ns, 200'000);
  return trace;
}

TEST(Window, AReallocThatRunsAtItsBeginMovesItsBlock) {
  auto trace = two_halves();
  trace.malloc(1, 100, 0x1000, 300);
  trace.realloc(1, 900 * step_ns, 0x1000, 0x2000, 500, 1, 300 * step_ns);
  const PlanOf plan(trace, {}, 2 * begin_call);
  const auto operations = plan.operations(1);
  ASSERT_EQ(operations.size(), 3u);
  EXPECT_EQ(operations[0].size, 300u);
  EXPECT_EQ(operations[1].kind, begin_measuring);
  EXPECT_TRUE(operations[2].moves());
  EXPECT_EQ(operations[2].size, 500u);
}

TEST(Window, ASettingThatTheProgramMadeBeforeHolds) {
  auto trace = two_halves();
  order::Call call;
  call.kind = trace::EventKind::mallopt_;
  call.begin_ns = 10;
  call.size = 7;
  trace.add(1, call);
  const PlanOf plan(trace, {}, 2 * begin_call);
  EXPECT_EQ(plan.operations(1).front().event_kind(), trace::EventKind::mallopt_);
  EXPECT_EQ(plan.operations(1).front().slot, 7u);
}

TEST(Window, BeginsWithWhatLiesBesideTheHeap) {
  auto trace = two_halves();
  trace.malloc(1, 100, 0x1000, 30'000);
  trace.malloc(1, 300 * step_ns, 0x2000, 30'000);
  const PlanOf plan(trace, {}, 2 * begin_call);
  const PlanFile file(plan.path());
  ASSERT_EQ(file.marks().size(), 2u);
  EXPECT_EQ(file.marks()[0].recorded_bytes, 70'000u);  // at the first reading one of them lived
  EXPECT_EQ(file.marks()[0].time_ns, file.marks()[1].time_ns);
  EXPECT_EQ(file.marks()[1].recorded_bytes, 200'000u);
  EXPECT_EQ(plan.operations(0).front().kind, take_mark);
}

TEST(Window, AThreadThatHadEndedMakesItsBlocksAndIsJoined) {
  auto trace = two_halves();
  trace.malloc(1, 100, 0x1000, 300);
  trace.thread_records[1].exit_ns = 500;
  trace.malloc(2, 700, 0x5000, 64);  // later than that
  const PlanOf plan(trace, {}, 2 * begin_call);
  std::vector<std::uint8_t> controls;
  for (const auto& operation : plan.operations(0)) {
    if (operation.is_control()) controls.push_back(operation.kind);
  }
  const std::vector<std::uint8_t> expected{take_mark,       start_thread, start_thread,
                                           begin_measuring, join_thread,  take_mark};
  EXPECT_EQ(controls, expected);
  EXPECT_EQ(PlanFile(plan.path()).lanes()[1].ends, 1u);
}

}  // namespace
}  // namespace heapwright::replay
