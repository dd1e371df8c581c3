// SPDX-License-Identifier: MIT
#include "replay/block_marks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "replay/heap_calls.hpp"

namespace heapwright::replay {
namespace {

using trace::EventKind;

Operation call_of(EventKind kind, std::uint32_t slot, std::uint64_t size, std::uint32_t generation = 0) {
  Operation operation;
  operation.kind = static_cast<unsigned>(kind) & 0x7fU;
  operation.slot = slot;
  operation.size = size & largest_size;
  operation.generation = generation;
  return operation;
}

// Blocks at places that the test chooses.
class MarkedBlocks : public ::testing::Test {
 protected:
  void make(std::uint32_t slot, std::size_t at, std::uint64_t size, EventKind kind = EventKind::malloc_) {
    slots_[slot].block = &memory_[at];
    marks_.after(call_of(kind, slot, size), slots_[slot]);
  }
  void move(std::uint32_t slot, std::size_t at, std::uint64_t size) {
    const auto operation = call_of(EventKind::realloc_, slot, size, 1);
    marks_.before(operation, slots_[slot]);
    slots_[slot].block = &memory_[at];
    marks_.after(operation, slots_[slot]);
  }
  void free(std::uint32_t slot, std::uint64_t size) {
    const auto operation = call_of(EventKind::free_, slot, size, 1);
    marks_.before(operation, slots_[slot]);
    slots_[slot].block = nullptr;
    marks_.after(operation, slots_[slot]);
  }

  alignas(4096) std::array<unsigned char, 65536> memory_{};
  std::array<Slot, 4> slots_{};
  BlockMarks marks_{4};
};

TEST_F(MarkedBlocks, BesideEachOtherAreRight) {
  make(0, 0, 40);
  make(1, 48, 0);
  make(2, 48, 3, EventKind::calloc_);
  make(3, 4096, 20'000);
  std::copy_n(&memory_[0], 40, &memory_[32768]);
  move(0, 32768, 9'000);
  move(0, 32768, 5);
  move(0, 32768, 3);
  move(0, 32768, 9'000);
  free(3, 20'000);
  free(1, 0);
  free(2, 3);
  free(0, 9'000);
}

TEST_F(MarkedBlocks, AreWrittenToWhereTheyAreTouchedAlone) {
  auto operation = call_of(EventKind::malloc_, 0, 60'000);
  operation.touch = touch_even;
  slots_[0].block = &memory_[0];
  marks_.after(operation, slots_[0]);
  const auto touched = static_cast<std::ptrdiff_t>(touched_bytes(operation));
  ASSERT_GT(touched, 512);
  EXPECT_TRUE(std::all_of(memory_.begin() + touched, memory_.end(), [](auto byte) { return byte == 0; }));
}

TEST_F(MarkedBlocks, OfOnePlaceAreNoticed) {
  make(0, 0, 40);
  make(1, 0, 40);
  EXPECT_EXIT(free(0, 40), ::testing::ExitedWithCode(1), "a block changed while it lived: blocks overlap");
}

TEST_F(MarkedBlocks, ThatOverlapAreNoticed) {
  make(0, 0, 200);
  make(1, 160, 200);
  EXPECT_EXIT(free(0, 200), ::testing::ExitedWithCode(1), "blocks overlap");
}

TEST_F(MarkedBlocks, InALargerOneAreNoticed) {
  make(0, 0, 20'000);
  make(1, 8'000, 300);
  EXPECT_EXIT(free(0, 20'000), ::testing::ExitedWithCode(1), "blocks overlap");
}

TEST_F(MarkedBlocks, KeepWhatIsInThemWhenTheyMove) {
  make(0, 0, 100);
  std::copy_n(&memory_[0], 90, &memory_[4096]);
  EXPECT_EXIT(move(0, 4096, 200), ::testing::ExitedWithCode(1), "a block changed while it lived");
}

TEST_F(MarkedBlocks, AreAlignedForWhatFitsInto) {
  make(0, 8, 8);
  make(1, 4, 7);
  EXPECT_EXIT(make(2, 8, 16), ::testing::ExitedWithCode(1), "a block of 16 bytes is not aligned to 16");
  auto aligned = call_of(EventKind::posix_memalign_, 3, 64);
  aligned.alignment_log2 = 6;
  slots_[3].block = &memory_[32];
  EXPECT_EXIT(marks_.after(aligned, slots_[3]), ::testing::ExitedWithCode(1), "not aligned to 64");
}

TEST_F(MarkedBlocks, OfCallocAreZeroed) {
  memory_[4096 + 300] = 1;
  memory_[4096] = 1;  // by touching
  make(0, 4096, 300, EventKind::calloc_);
  EXPECT_EXIT(make(1, 4096, 301, EventKind::calloc_), ::testing::ExitedWithCode(1),
              "calloc's block of 301 bytes is not zeroed");
}

}  // namespace
}  // namespace heapwright::replay
