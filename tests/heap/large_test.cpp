// SPDX-License-Identifier: MIT
// Large blocks that are moved, and what is counted of memory given back.
#include "heap/pages/large.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "heap/base/counting.hpp"
#include "heap/base/settings.hpp"
#include "heap/base/system_pages.hpp"
#include "heap/front/allocate.hpp"
#include "heap/pages/free_runs.hpp"
#include "heap/pages/page_source.hpp"
#include "heap/service/maintenance.hpp"
#include "heap/service/process.hpp"
#include "heap/slabs/page_purge.hpp"
#include "heap/slabs/slab.hpp"
#include "heap/threads/thread_cache.hpp"

namespace heapwright::heap {
namespace {

constexpr std::size_t large_block_bytes = std::size_t{5} << 20;

std::uint64_t used_units() {
  return committed_bytes() / unit_bytes - source.dirty_units - source.clean_units - source.set_aside_units;
}

class Large : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(initialize_process());
    settings.has_maintenance_thread = false;
  }
  void TearDown() override { refuse_every = 0; }
};

// A block with another directly behind it, so that it cannot grow where it is.
struct Hemmed {
  UnitLine* block;
  UnitLine* neighbour;

  Hemmed() {
    const std::uint32_t units = large_block_bytes / unit_bytes;
    const auto run = allocate_run(2 * units);
    free_run(run.unit, 2 * units, true);
    block = line_at(allocate_large(large_block_bytes, 1, nullptr).memory);
    neighbour = line_at(allocate_large(large_block_bytes, 1, nullptr).memory);
  }
};

bool move_and_free() {
  const Hemmed hemmed;
  if (unit_of(hemmed.block) + hemmed.block->units != unit_of(hemmed.neighbour)) {
    free_large(hemmed.block);
    free_large(hemmed.neighbour);
    return false;
  }
  void* moved = resize_large(hemmed.block, large_block_bytes + unit_bytes);
  free_large(moved == nullptr ? hemmed.block : line_at(moved));
  free_large(hemmed.neighbour);
  return moved != nullptr;
}

// Only so many may be moved at a time; one that was freed counts no more.
TEST_F(Large, BlocksThatWereMovedAndFreedDoNotCount) {
  int moved = 0;
  for (int i = 0; i < 3000; ++i) moved += move_and_free() ? 1 : 0;
  ASSERT_GT(moved, 2100);
  EXPECT_TRUE(page_source_is_valid());
}

TEST_F(Large, AMoveThatTheSystemRefusesLosesNothing) {
  const Hemmed hemmed;
  const auto room = allocate_run(4096);  // what the move would take needs no growth
  free_run(room.unit, 4096, true);
  const std::uint64_t before = used_units();
  refuse_every = 1;
  EXPECT_EQ(resize_large(hemmed.block, large_block_bytes + unit_bytes), nullptr);
  refuse_every = 0;
  EXPECT_EQ(used_units(), before);
  free_large(hemmed.block);
  free_large(hemmed.neighbour);
}

constexpr std::size_t huge_block_bytes = std::size_t{24} << 20;

void give_all_back() {
  while (purge_oldest_run(0, 0)) {
  }
}

void free_huge(UnitLine* block) {
  make_room_for_dirty(block->large_bytes);
  free_large(block);
}

TEST_F(Large, AHugeBlockServesTheNextOne) {
  give_all_back();
  auto* const block = static_cast<char*>(allocate_large(huge_block_bytes, 1, nullptr).memory);
  std::memset(block, 1, huge_block_bytes);
  free_huge(line_at(block));
  EXPECT_GE(dirty_bytes(), huge_block_bytes);
  const auto next = allocate_large(huge_block_bytes - unit_bytes, 1, nullptr);
  EXPECT_EQ(next.memory, block);
  EXPECT_FALSE(next.is_zeroed);
  free_huge(line_at(next.memory));
}

TEST_F(Large, HugeBlocksLeaveNoMoreDirtyThanMayStay) {
  give_all_back();
  std::vector<UnitLine*> blocks;
  for (int i = 0; i < 12; ++i) blocks.push_back(line_at(allocate_large(huge_block_bytes, 1, nullptr).memory));
  for (auto* const block : blocks) {
    const std::size_t before = dirty_bytes();
    const std::size_t most = most_kept_dirty_bytes();
    free_huge(block);
    EXPECT_LE(dirty_bytes(), most);
    // The block's own stays; of those before it not more goes than has to.
    EXPECT_GE(dirty_bytes() + huge_bytes, std::min(most, before + huge_block_bytes));
  }
  EXPECT_TRUE(page_source_is_valid());
}

// Small frees may have left far more than may stay.
TEST_F(Large, AFreeGivesBackNoMoreThanMayStayNoLonger) {
  give_all_back();
  const auto block = allocate_large(huge_block_bytes, 1, nullptr);
  const auto units = static_cast<std::uint32_t>(2 * most_kept_dirty_bytes() / unit_bytes);
  const auto run = allocate_run(units);
  free_run(run.unit, units, true);
  const std::size_t before = dirty_bytes();
  make_room_for_dirty(huge_block_bytes);
  EXPECT_GT(before, dirty_bytes());
  EXPECT_LE(before - dirty_bytes(), (kept_share + 1) * huge_block_bytes + 16 * unit_bytes);
  free_large(line_at(block.memory));
  give_all_back();
}

TEST_F(Large, ABlockAboveWhatMayStayDoesNotVouchForItself) {
  give_all_back();
  const std::size_t bytes = most_kept_dirty_bytes() + (std::size_t{256} << 20);
  const auto block = allocate_large(bytes, 1, nullptr);
  ASSERT_NE(block.memory, nullptr);
  static_cast<char*>(block.memory)[100] = 1;
  free_huge(line_at(block.memory));
  EXPECT_LT(dirty_bytes(), huge_bytes);
  EXPECT_TRUE(page_source_is_valid());
}

// Blocks of many lengths: what is in use falls and rises, and the pages are wanted again.
TEST_F(Large, HugeBlocksKeepThreeTimesWhatIsInUse) {
  give_all_back();
  std::vector<UnitLine*> blocks;
  for (int i = 0; i < 16; ++i) blocks.push_back(line_at(allocate_large(huge_block_bytes, 1, nullptr).memory));
  for (std::size_t i = 4; i < blocks.size(); ++i) free_huge(blocks[i]);
  EXPECT_GE(dirty_bytes(), 12 * huge_block_bytes);
  for (std::size_t i = 0; i < 4; ++i) free_huge(blocks[i]);
  give_all_back();
}

TEST_F(Large, WhereNobodyMakesRoomAHugeBlockGoesBackItself) {
  give_all_back();
  const auto units =
      static_cast<std::uint32_t>((most_kept_dirty_bytes() + kept_share * huge_block_bytes) / unit_bytes);
  const auto full = allocate_run(units);
  const auto other = allocate_large(huge_block_bytes, 1, nullptr);
  free_run(full.unit, units, true);
  const std::size_t before = dirty_bytes();
  ASSERT_GT(before + huge_block_bytes, std::size_t{64} << 20);
  static_cast<char*>(other.memory)[100] = 1;
  free_large(line_at(other.memory));
  EXPECT_EQ(dirty_bytes(), before);
  EXPECT_EQ(static_cast<char*>(other.memory)[100], 0);
}

TEST_F(Large, HugeMemoryThatWasUsedIsZerosForCalloc) {
  give_all_back();
  auto* const block = static_cast<char*>(allocate_large(huge_block_bytes, 1, nullptr).memory);
  std::memset(block, 1, huge_block_bytes);
  free_huge(line_at(block));
  auto* const zeros = static_cast<char*>(allocate_zeroed(huge_block_bytes));
  ASSERT_EQ(zeros, block);
  std::size_t others = 0;
  for (std::size_t i = 0; i < huge_block_bytes; ++i) others += zeros[i] != 0 ? 1 : 0;
  EXPECT_EQ(others, 0U);
  free_huge(line_at(zeros));
}

std::uint64_t purged_bytes() { return counters_page->heap.purged_bytes.load(); }

TEST_F(Large, RunsGivenBackAreCounted) {
  while (purge_oldest_run(0, 0)) {
  }
  const auto run = allocate_run(4);
  free_run(run.unit, 4, true);
  const std::uint64_t before = purged_bytes();
  while (purge_oldest_run(0, 0)) {
  }
  EXPECT_EQ(purged_bytes() - before, 4 * unit_bytes);
}

TEST_F(Large, PagesOfSlabsGivenBackAreCounted) {
  static ThreadCache owner{};
  const std::uint32_t size_class = class_of(4096);
  UnitLine* slab = open_slab(allocate_run(1), size_class, 1, &owner);
  while (can_carve(slab)) carve(slab);
  for (std::uint32_t i = 0; i < unit_bytes / 4096; ++i) {
    auto* block = reinterpret_cast<Block*>(begin_of_slab(slab) + i * 4096);
    push(slab, block, slab->free_list);
  }
  const std::uint64_t before = purged_bytes();
  const std::size_t dropped = drop_free_pages(slab);
  EXPECT_EQ(dropped, unit_bytes);
  EXPECT_EQ(purged_bytes() - before, dropped);
  close_slab(slab);
}

}  // namespace
}  // namespace heapwright::heap
