// SPDX-License-Identifier: MIT
// Which call stacks hold the pages at a mark.
#include "replay/held_memory.hpp"

#include "replay/changed_plans.hpp"
#include "replay/report_reading.hpp"

namespace heapwright::replay {
namespace {

std::vector<HeldMemory::OfStack> held;

void keep(Stage& stage, std::uint64_t /*resident_bytes*/) { held = HeldMemory(stage).stacks(); }

std::vector<HeldMemory::OfStack> held_at(const PlanOf& plan, std::uint32_t mark) {
  held.clear();
  Stage stage(plan.path());
  RecordedOrder order(stage, 0, 0);
  order.at_mark(mark, keep);
  order.run();
  return held;
}

constexpr std::uint64_t large = std::uint64_t{1} << 20U;  // has pages of its own in any allocator

order::MemoryTrace trace_with_marks() {
  auto trace = trace_of_threads(2);
  read_memory_at(trace, 50);
  read_memory_at(trace, 500);
  read_memory_at(trace, 900);
  return trace;
}

TEST(HeldMemory, IsOfTheBlocksThatLiveThen) {
  auto trace = trace_with_marks();
  trace.malloc(0, 100, 0x100000, large, 1);
  trace.malloc(0, 110, 0x300000, large, 2);
  trace.malloc(1, 120, 0x500000, large, 2);
  trace.free(1, 130, 0x300000);
  trace.realloc(1, 140, 0x100000, 0x700000, 2 * large, 3);
  trace.malloc(0, 600, 0x900000, large, 1);
  const PlanOf plan(trace);
  EXPECT_EQ(held_at(plan, 0).size(), 4u);
  const auto middle = held_at(plan, 1);
  EXPECT_EQ(middle[1].blocks, 0u) << "moved by stack 3";
  EXPECT_EQ(middle[2].blocks, 1u);
  EXPECT_EQ(middle[3].blocks, 1u);
  EXPECT_NEAR(middle[2].bytes, large, page);
  EXPECT_NEAR(middle[3].bytes, 2 * large, page);
  EXPECT_NEAR(held_at(plan, 2)[1].bytes, large, page);
}

// Whatever lies beside them: the parts add up to whole pages.
TEST(HeldMemory, SharesPagesByBytes) {
  if (HEAPWRIGHT_ASAN) GTEST_SKIP() << "red zones, and sizes apart";
  auto trace = trace_with_marks();
  constexpr std::uint64_t count = 40000;  // many beside the holes that other tests left
  for (std::uint64_t number = 0; number < count; ++number) {
    trace.malloc(0, 100 + number % 10, 0x100000 + number * 1024, number % 2 == 0 ? 300 : 100,
                 number % 2 == 0 ? 1 : 2);
  }
  for (std::uint64_t number = 0; number < count; ++number) {
    if (number % 4 >= 2) trace.free(0, 200, 0x100000 + number * 1024);
  }
  const auto found = held_at(PlanOf(trace), 1);
  EXPECT_EQ(found[1].blocks, count / 4);
  EXPECT_EQ(found[2].blocks, count / 4);
  EXPECT_NEAR(found[1].bytes / found[2].bytes, 3, 0.2);
  const double own = count / 4 * 400.0;
  EXPECT_GT(found[1].bytes + found[2].bytes, 1.5 * own) << "half of each page is free";
  EXPECT_LT(found[1].bytes + found[2].bytes, 3 * own);
}

// A realloc says later how much of the block was kept.
TEST(HeldMemory, IsNotOfPagesThatTheProgramDidNotTouch) {
  auto trace = trace_with_marks();
  trace.malloc(0, 100, 0x100000, 64 * large, 1);
  trace.realloc(0, 600, 0x100000, 0x100000, large, 2);
  const auto found = held_at(PlanOf(trace), 1);
  EXPECT_EQ(found[1].blocks, 1u);
  EXPECT_GT(found[1].bytes, 0.5 * large);
  EXPECT_LT(found[1].bytes, 3 * large);
}

TEST(HeldMemory, KnowsWhatChangesMake) {
  auto trace = trace_with_marks();
  trace.malloc(0, 100, 0x100000, large, chosen);
  trace.realloc(0, 200, 0x100000, 0x300000, 4 * large, chosen);
  trace.malloc(0, 300, 0x700000, 64, chosen);
  trace.free(0, 600, 0x300000);
  trace.free(0, 700, 0x700000);
  const auto reserved = held_at(PlanOf(trace, request_of(Change::reserve)), 1);
  EXPECT_NEAR(reserved[chosen].bytes, 4 * large, 2 * page);
  const auto inside = held_at(PlanOf(trace, request_of({Change::small_vector, 64})), 1);
  EXPECT_EQ(inside[chosen].blocks, 1u);
  const auto served = held_at(PlanOf(trace, request_of(Change::segregate)), 1);
  EXPECT_NEAR(served[chosen].bytes, 4 * large, 2 * page);
  const auto waiting = held_at(PlanOf(trace, request_of({Change::deferred_free, 1000})), 2);
  EXPECT_EQ(waiting[chosen].blocks, 2u) << "freed, and there still";
}

}  // namespace
}  // namespace heapwright::replay
