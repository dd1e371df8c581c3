// SPDX-License-Identifier: MIT
// Lanes without a collector: what fits into a ring, and what a thread finds.
#include "record/lane.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

// What lanes want of the rest of the recorder.
namespace heapwright::record {

constinit WipedOnFork wiped_on_fork{};
constinit Process process{};

session::Lane* map_lane(std::uint32_t index, session::Lane*, std::uint32_t) noexcept {
  errno = ENOMEM;  // as a failed system call inside would leave it
  return &process.block->lanes[index];
}
bool may_read_clock() noexcept { return true; }

namespace {

class Lanes : public ::testing::Test {
 protected:
  void SetUp() override {
    process.block = static_cast<session::ProcessBlock*>(
        mmap(nullptr, sizeof(session::ProcessBlock), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    ASSERT_NE(static_cast<void*>(process.block), MAP_FAILED);
    process.control = &control_;  // nobody holds its collector_life
    process.tables.block = process.block;
    process.ticks_are_tsc = true;
    wiped_on_fork.mode.store(Mode::active);
    begin_lanes(true, process.block->lanes);
  }
  void TearDown() override {
    current_thread = nullptr;
    munmap(process.block, sizeof(session::ProcessBlock));
  }

  static void emit_one(ThreadRecorder& thread, std::uint64_t address) {
    emit(thread, Call{.kind = EventKind::malloc_, .begin_ticks = 1, .size = 8, .address = address});
  }
  static void emit_two(ThreadRecorder& thread, std::uint64_t address) {
    emit(thread, Call{.kind = EventKind::realloc_,
                      .begin_ticks = 1,
                      .size = 8,
                      .address = address,
                      .old_address = address + 16});
  }

  // Every way to be full: one event, or the two slots of a realloc, do not
  // fit, and nothing that waits for the collector is written over.
  static void fill(std::uint64_t ring) {
    for (std::uint64_t left = 0; left <= 2; ++left) {
      ThreadRecorder& thread = *claim_lane();
      session::Lane& lane = *thread.lane;
      ASSERT_EQ(thread.ring_mask + 1, ring);
      for (std::uint64_t i = 0; i + left < ring; ++i) emit_one(thread, 1000 + i);
      emit_two(thread, 7);
      const bool fits = left == 2;
      EXPECT_EQ(thread.head, fits ? ring : ring - left) << left;
      EXPECT_EQ(lane.dropped_full.load(), fits ? 0U : 1U) << left;
      if (left == 1) emit_one(thread, 8);
      EXPECT_EQ(thread.head, ring) << left;
      const std::uint64_t dropped = lane.dropped_full.load();
      emit_one(thread, 9);
      emit_two(thread, 9);
      EXPECT_EQ(thread.head, ring) << left;
      EXPECT_EQ(lane.head.load(), ring) << left;
      EXPECT_EQ(lane.dropped_full.load(), dropped + 2) << left;
      EXPECT_EQ(lane.ring[0].address_and_kind >> 16, 1000U) << left;
      EXPECT_EQ(lane.ring[1].address_and_kind >> 16, 1001U) << left;
      // The collector takes one slot: one event fits, a realloc does not.
      lane.tail.store(1);
      emit_two(thread, 10);
      EXPECT_EQ(thread.head, ring) << left;
      emit_one(thread, 11);
      EXPECT_EQ(thread.head, ring + 1) << left;
      EXPECT_EQ(lane.ring[0].address_and_kind >> 16, 11U) << left;
      EXPECT_EQ(lane.ring[1].address_and_kind >> 16, 1001U) << left;
      current_thread = nullptr;
    }
  }

  session::Control control_{};
};

TEST_F(Lanes, AWholeRingTakesAllItsSlotsAndNoMore) { fill(session::lane_ring_slots); }

TEST_F(Lanes, ASmallRingTakesAllItsSlotsAndNoMore) {
  process.block->lane_count.store(session::whole_ring_lanes);
  fill(session::small_ring_slots);
}

// What the slots of a context say, from `at` on.
std::string context_at(const session::Lane& lane, std::uint64_t at) {
  std::string name;
  const std::uint64_t most = at + 6;
  for (bool is_last = false; !is_last && at < most; ++at) {
    session::RawContext slot;
    std::memcpy(&slot, &lane.ring[at], sizeof slot);
    EXPECT_EQ(slot.length_and_kind & 0xff, session::context_kind);
    is_last = (slot.length_and_kind >> 8 & 1) != 0;
    char text[session::context_slot_bytes];
    std::memcpy(text, &slot.text_begin, 8);
    std::memcpy(text + 8, slot.text_rest, 16);
    name.append(text, slot.length_and_kind >> 16);
  }
  return name;
}

TEST_F(Lanes, AContextIsInAsManySlotsAsItsNameTakes) {
  ThreadRecorder& thread = *claim_lane();
  struct Case {
    std::size_t bytes;
    std::uint64_t slots;
  };
  for (const auto [bytes, slots] : {Case{0, 1}, {1, 1}, {24, 1}, {25, 2}, {120, 5}, {121, 5}}) {
    const std::string name(bytes, 'n');
    current_context = name.c_str();
    const std::uint64_t begin = thread.head;
    emit_context(thread);
    EXPECT_EQ(thread.head - begin, slots) << bytes;
    EXPECT_EQ(thread.lane->head.load(), thread.head);
    EXPECT_EQ(context_at(*thread.lane, begin), name.substr(0, 120)) << bytes;
  }
  current_context = nullptr;
  const std::uint64_t begin = thread.head;
  emit_context(thread);
  EXPECT_EQ(context_at(*thread.lane, begin), "");
}

TEST_F(Lanes, AThreadBeginsInTheContextThatItIsIn) {
  current_context = "parent's";
  ThreadRecorder& thread = *claim_lane();
  EXPECT_EQ(thread.head, 1U);
  EXPECT_EQ(context_at(*thread.lane, 0), "parent's");
  current_context = nullptr;
}

// Otherwise calls would be taken for those of the context before.
TEST_F(Lanes, AContextThatFoundNoRoomIsWrittenBeforeTheNextEvent) {
  ThreadRecorder& thread = *claim_lane();
  while (thread.head <= thread.ring_mask) emit_one(thread, 7);
  for (const char* name : {"lost", "meant"}) {
    current_context = name;
    emit_context(thread);
  }
  EXPECT_TRUE(thread.lacks_context);
  thread.lane->tail.store(3);  // room for the event alone
  emit_one(thread, 8);
  EXPECT_EQ(thread.head, thread.ring_mask + 1);
  thread.lane->tail.store(20);
  emit_one(thread, 9);
  EXPECT_EQ(thread.head, thread.ring_mask + 3);
  EXPECT_EQ(context_at(*thread.lane, 0), "meant");
  EXPECT_EQ(thread.lane->ring[1].address_and_kind >> 16, 9U);
  EXPECT_FALSE(thread.lacks_context);
  current_context = nullptr;
}

TEST_F(Lanes, AReusedLaneForgetsWhatItsLastThreadDropped) {
  std::thread([] {
    ThreadRecorder& thread = *claim_lane();
    for (std::uint64_t i = 0; i <= thread.ring_mask; ++i) emit_one(thread, i);
    emit_one(thread, 1);
    thread.lane->dropped_reentrant.store(3);
    thread.lane->self_release_samples.store(4);
    EXPECT_EQ(thread.lane->dropped_full.load(), 1U);
    EXPECT_EQ(thread.lane->waits.load(), 1U);
  }).join();
  session::Lane& lane = process.block->lanes[0];
  EXPECT_EQ(lane.state.load(), session::lane_exiting);
  lane.state.store(session::lane_unused);
  std::thread([&lane] {
    ThreadRecorder& thread = *claim_lane();
    EXPECT_EQ(thread.lane, &lane);
    for (const auto* counter : {&lane.dropped_full, &lane.dropped_reentrant, &lane.waits, &lane.waited_ticks,
                                &lane.self_release_samples, &lane.head, &lane.tail}) {
      EXPECT_EQ(counter->load(), 0U);
    }
    EXPECT_EQ(lane.generation.load(), 2U);
  }).join();
}

TEST(SelfCost, CallsThatTakeTurnsHaveSamplesOfEachKind) {
  std::uint64_t samples[2] = {};
  constexpr std::uint64_t calls = 1'000'000;
  for (std::uint64_t head = 1; head <= calls; ++head) {
    samples[head % 2] += session::is_self_cost_sample(head) ? 1 : 0;
  }
  for (const std::uint64_t of_one_kind : samples) {
    EXPECT_NEAR(static_cast<double>(of_one_kind), calls / 2.0 / session::self_cost_interval, 50);
  }
}

TEST_F(Lanes, ASampleOffTheProcessorIsNotTheRecordersCost) {
  session::Lane& lane = process.block->lanes[0];
  session::add_self_cost(lane, 300, false);
  session::add_self_cost(lane, 3'000'000, false);
  session::add_self_cost(lane, 100, true);
  session::add_self_cost(lane, 50, true);
  EXPECT_EQ(lane.self_allocation_samples.load(), 1U);
  EXPECT_EQ(lane.self_allocation_ticks.load(), 300U);
  EXPECT_EQ(lane.self_release_samples.load(), 2U);
  EXPECT_EQ(lane.self_release_ticks.load(), 150U);
}

TEST_F(Lanes, TheFirstCallOfAThreadKeepsItsErrno) {
  errno = EXDEV;
  EXPECT_NE(claim_lane(), nullptr);
  EXPECT_EQ(errno, EXDEV);
}

}  // namespace
}  // namespace heapwright::record
