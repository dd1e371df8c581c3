// SPDX-License-Identifier: MIT
// What a changed operation does to its block.
#include "replay/servers.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include "replay/changed_plans.hpp"

namespace heapwright::replay {
namespace {

// A slot of a plan's first lane, and the operation that is done to it next.
struct AtSlot {
  explicit AtSlot(const PlanOf& plan, std::uint8_t kind) : stage(plan.path()) {
    stage.enter(0);
    operation.kind = kind & 0x7fU;
  }
  void perform() { call_heap(operation, slot); }

  Stage stage;
  Slot slot;
  Operation operation;
};

TEST(Serve, GivesABlockAsAlignedAsItWasAskedFor) {
  auto trace = trace_of_threads(1);
  trace.malloc(0, 100, 0x1000, 100, chosen);
  trace.realloc(0, 200, 0x1000, 0x2000, 50, chosen);
  trace.free(0, 300, 0x2000);
  const PlanOf plan(trace, request_of(Change::node_pool));
  AtSlot at(plan, serve_make);
  at.operation.size = 100;
  at.operation.alignment_log2 = 8;
  at.perform();
  ASSERT_NE(at.slot.block, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at.slot.block) % 256, 0u);
  static_cast<char*>(at.slot.block)[49] = 'x';
  at.operation.alignment_log2 = 0;  // a realloc asks for none
  at.operation.size = 50;
  at.operation.generation = 1;
  at.perform();
  EXPECT_EQ(static_cast<char*>(at.slot.block)[49], 'x');
  at.operation.kind = serve_release & 0x7fU;
  at.operation.generation = 3;
  at.perform();
  EXPECT_EQ(at.slot.block, nullptr);
}

TEST(Serve, TakesTheBlockOfAnotherSlot) {
  auto trace = trace_of_threads(1);
  trace.malloc(0, 100, 0x1000, 100, chosen);
  trace.malloc(0, 200, 0x2000, 200, chosen);
  trace.free(0, 300, 0x1000);
  const PlanOf plan(trace, request_of(Change::reserve));
  AtSlot at(plan, serve_take);
  at.operation.slot = 1;
  at.operation.size = 0;
  int block = 0;
  Slot& other = at.stage.slot_of({});
  other.block = &block;
  at.slot.touched_pages = 7;
  at.perform();
  EXPECT_EQ(at.slot.block, &block);
  EXPECT_EQ(at.slot.touched_pages, 0u);
  EXPECT_EQ(other.block, nullptr);
  at.operation.size = 2;
  EXPECT_EXIT(at.perform(), testing::ExitedWithCode(2), "damaged");
}

// As threads do that do not wait for each other.
TEST(Serve, ResetsAnArenaBehindTheReleasesOfOthers) {
  auto trace = trace_of_threads(2);
  trace.malloc(0, 100, 0x1000, 40, chosen);
  trace.free(1, 200, 0x1000);
  const PlanOf plan(trace, request_of(Change::arena));
  AtSlot at(plan, serve_make);
  at.operation.size = 40;
  at.perform();
  std::atomic<bool> is_released{false};
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    at.stage.enter(1);
    Operation release = at.operation;
    release.kind = serve_release & 0x7fU;
    release.generation = 1;
    is_released = true;
    call_heap(release, at.slot);
  });
  Operation first = at.operation;
  first.kind = serve_first & 0x7fU;
  Slot next{};
  call_heap(first, next);
  EXPECT_TRUE(is_released);
  other.join();
  EXPECT_EQ(at.slot.block, nullptr);
}

TEST(Serve, RefusesWhatNoPlanHas) {
  auto trace = trace_of_threads(1);
  trace.malloc(0, 100, 0x1000, 100, chosen);
  const PlanOf plan(trace, request_of(Change::arena));
  AtSlot at(plan, serve_release);
  EXPECT_EXIT(at.perform(), testing::ExitedWithCode(2), "damaged");
}

}  // namespace
}  // namespace heapwright::replay
