// SPDX-License-Identifier: MIT
#include "heap/slabs/slab.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "carve_all.hpp"
#include "heap/base/counting.hpp"
#include "heap/pages/page_source.hpp"
#include "heap/service/process.hpp"
#include "heap/slabs/dropped_blocks.hpp"
#include "heap/slabs/page_purge.hpp"
#include "heap/threads/remote_free.hpp"
#include "heap/threads/thread_cache.hpp"

namespace heapwright::heap {
namespace {

ThreadCache slab_owner{};

void free_to(UnitLine* slab, char* memory) {
  auto* block = reinterpret_cast<Block*>(memory);
  block->set_next(slab->free_list);
  slab->free_list = block;
  ++slab->freed;
}

class Slab : public testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(initialize_process());
    const std::uint32_t size_class = class_of(GetParam());
    const std::uint32_t units = size_classes[size_class].units;
    slab_ = open_slab(allocate_run(units), size_class, units, &slab_owner);
    ASSERT_NE(slab_, nullptr);
  }
  UnitLine* slab_ = nullptr;
};

TEST_P(Slab, CarvesEveryBlockOnceInsideItsUnits) {
  const std::vector<char*> blocks = carve_all(slab_);
  EXPECT_EQ(blocks.size(), capacity_of_slab(slab_));
  const std::set<char*> distinct(blocks.begin(), blocks.end());
  ASSERT_EQ(distinct.size(), blocks.size());
  char* before = nullptr;
  for (char* block : distinct) {
    if (before != nullptr) {
      EXPECT_GE(block - before, static_cast<long>(GetParam()));
    }
    before = block;
  }
  EXPECT_GE(*distinct.begin(), begin_of_slab(slab_));
  EXPECT_LE(before + GetParam(), begin_of_slab(slab_) + slab_->units * unit_bytes);
  EXPECT_EQ(unlisted_count(slab_), blocks.size());
  for (char* block : blocks) free_to(slab_, block);
  EXPECT_TRUE(is_empty(slab_));
  EXPECT_TRUE(slab_is_valid(slab_));
  close_slab(slab_);
}

TEST_P(Slab, OneCarvingNeverMakesLinksOfMoreThanAPage) {
  while (can_carve(slab_)) {
    const Chain chain = carve(slab_);
    const std::size_t most = carve_bytes / class_of_slab(slab_).block_bytes + 1;
    EXPECT_LE(chain.count, most);
  }
  close_slab(slab_);
}

// Blocks freed long ago are cold, and nobody else will touch them.
TEST_P(Slab, ClosingLooksAtTheBlockFreedLastOnly) {
  const std::vector<char*> blocks = carve_all(slab_);
  for (char* block : blocks) free_to(slab_, block);
  if (blocks.size() > 1) reinterpret_cast<Block*>(blocks[blocks.size() - 2])->set_next(nullptr);
  close_slab(slab_);  // stops the process if it goes on to that one
}

TEST_P(Slab, ValidityFindsWhatIsWrong) {
  const std::vector<char*> blocks = carve_all(slab_);
  free_to(slab_, blocks[1]);
  free_to(slab_, blocks[3]);
  ASSERT_TRUE(slab_is_valid(slab_));
  slab_->free_list = reinterpret_cast<Block*>(blocks[1] + 8);  // no block's begin
  if (GetParam() > 8) {
    EXPECT_FALSE(slab_is_valid(slab_));
  }
  slab_->free_list = reinterpret_cast<Block*>(blocks[3]);
  ++slab_->rest;  // a block too many outside
  EXPECT_FALSE(slab_is_valid(slab_));
  --slab_->rest;
  reinterpret_cast<Block*>(blocks[1])->set_next(reinterpret_cast<Block*>(blocks[3]));
  reinterpret_cast<Block*>(blocks[3])->set_next(reinterpret_cast<Block*>(blocks[3]));  // twice
  EXPECT_FALSE(slab_is_valid(slab_));
  slab_->free_list = nullptr;
  slab_->rest += 2;
  close_slab(slab_);
}

// A number of 16 bits tells the maps of 4 GiB apart.
TEST(Slabs, FarApartHaveMapsOfTheirOwn) {
  ASSERT_TRUE(initialize_process());
  constexpr std::uint32_t distance = 65536;
  const auto run = allocate_run(distance + 1);
  ASSERT_NE(run.unit, 0U);
  UnitLine* near = open_slab({run.unit, run.is_zeroed}, class_of(1000), 1, &slab_owner);
  UnitLine* far = open_slab({run.unit + distance, run.is_zeroed}, class_of(1000), 1, &slab_owner);
  std::vector<DroppedMap*> maps;
  for (DroppedMap* map = take_map(near); map != nullptr; map = take_map(near)) maps.push_back(map);
  EXPECT_GT(maps.size(), 60'000U);
  DroppedMap* other = take_map(far);
  EXPECT_NE(other, nullptr);
  if (other != nullptr) give_map(far, other);
  for (DroppedMap* map : maps) give_map(near, map);
  close_slab(near);
  close_slab(far);
  free_run(run.unit + 1, distance - 1, !run.is_zeroed);
}

// Frees all but one block in three, drops pages, and carves them again: the
// live ones keep their bytes, and no block comes twice.
TEST_P(Slab, DroppedBlocksComeBackOnceAndLiveOnesStay) {
  const std::vector<char*> blocks = carve_all(slab_);
  std::set<char*> live;
  const std::size_t distance = std::max<std::size_t>(2, 20'000 / GetParam());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    std::memset(blocks[i], static_cast<int>(i | 1), GetParam());
    if (i % distance == 0) {
      live.insert(blocks[i]);
    } else if (i % 2 == 0) {
      free_to(slab_, blocks[i]);
    } else {
      free_remote(slab_, blocks[i]);
    }
  }
  const std::size_t dropped_bytes = drop_free_pages(slab_);
  ASSERT_TRUE(slab_is_valid(slab_));
  // A block above a page may lose its middle and stay listed by its beginning.
  if (GetParam() <= 4096) {
    EXPECT_EQ(dropped_bytes != 0, dropped_count(slab_) != 0);
  }
  if (distance * GetParam() >= 16'000) {
    EXPECT_GT(dropped_bytes, 0U);
  }
  std::set<char*> given = live;
  Chain listed = take_listed(slab_);
  for (std::uint32_t i = 0; i < listed.count; ++i, listed.first = listed.first->next()) {
    EXPECT_TRUE(given.insert(reinterpret_cast<char*>(listed.first)).second);
  }
  for (char* block : carve_all(slab_)) EXPECT_TRUE(given.insert(block).second);
  EXPECT_EQ(given.size(), blocks.size());
  for (std::size_t i = 0; i < blocks.size(); i += distance) {
    EXPECT_EQ(static_cast<unsigned char>(blocks[i][GetParam() - 1]), static_cast<unsigned char>(i | 1));
  }
  close_slab(slab_);
}

// A fork's child may find a block out of the map that was not counted yet.
TEST_P(Slab, DroppedBlocksAreCountedAnewByTheirMarks) {
  for (char* block : carve_all(slab_)) free_to(slab_, block);
  drop_free_pages(slab_);
  take_listed(slab_);
  const std::uint32_t before = dropped_count(slab_);
  ASSERT_GT(before, 1U);
  auto& words = map_of(slab_)->words;
  auto* word = std::find_if(std::begin(words), std::end(words), [](std::uint64_t bits) { return bits != 0; });
  *word &= *word - 1;
  recount_dropped(slab_);
  ASSERT_EQ(dropped_count(slab_), before - 1);
  slab_->carved = static_cast<std::uint16_t>(slab_->fresh - dropped_count(slab_));
  slab_->set_countdown(slab_->carved);
  slab_->rest = 0;
  EXPECT_EQ(carve_all(slab_).size(), before - 1);
  close_slab(slab_);
}

TEST_P(Slab, AWatchTellsTheOwnerAtTheCount) {
  const std::vector<char*> blocks = carve_all(slab_);
  ASSERT_TRUE(watch(slab_, 3));
  free_remote(slab_, blocks[0]);
  free_remote(slab_, blocks[1]);
  EXPECT_EQ(slab_owner.notified.load(), 0U);
  EXPECT_TRUE(unwatch(slab_));
  ASSERT_TRUE(watch(slab_, 3));
  free_remote(slab_, blocks[2]);
  EXPECT_EQ(slab_owner.notified.exchange(0), unit_of(slab_));
  EXPECT_FALSE(unwatch(slab_));  // told, not yet heard
  EXPECT_FALSE(watch(slab_, 3));
  EXPECT_EQ(take_remote(slab_).count, 3U);
  EXPECT_TRUE(slab_is_valid(slab_));
  clear_flag(slab_, is_watched);
  close_slab(slab_);
}

TEST_P(Slab, AWatchIsChangedUnlessANoticeIsUnderWay) {
  const std::vector<char*> blocks = carve_all(slab_);
  ASSERT_EQ(rewatch(slab_, 3), Watch::armed);
  free_remote(slab_, blocks[0]);
  EXPECT_EQ(rewatch(slab_, 1), Watch::reached);
  EXPECT_EQ(rewatch(slab_, 2), Watch::armed);
  free_remote(slab_, blocks[1]);
  EXPECT_EQ(slab_owner.notified.exchange(0), unit_of(slab_));
  EXPECT_EQ(rewatch(slab_, 3), Watch::notified);
  clear_flag(slab_, is_watched);
  EXPECT_EQ(rewatch(slab_, 2), Watch::reached);
  EXPECT_FALSE(has_flag(slab_, is_watched));
  EXPECT_EQ(rewatch(slab_, 3), Watch::armed);
  EXPECT_TRUE(unwatch(slab_));
  EXPECT_EQ(take_remote(slab_).count, 2U);
  EXPECT_TRUE(slab_is_valid(slab_));
  close_slab(slab_);
}

// Every second page of each unit: one call for each, and no step does more than a unit.
TEST(SlabPurge, AStepGivesBackTheHolesOfOneUnit) {
  ASSERT_TRUE(initialize_process());
  constexpr std::size_t page_bytes = 4096;
  const std::uint32_t size_class = class_of(page_bytes);
  const std::uint32_t units = size_classes[size_class].units;
  UnitLine* const slab = open_slab(allocate_run(units), size_class, units, &slab_owner);
  ASSERT_NE(slab, nullptr);
  const std::vector<char*> blocks = carve_all(slab);
  for (std::size_t i = 0; i < blocks.size(); i += 2) free_to(slab, blocks[i]);
  const auto& calls = counters_page->heap.purging.calls;
  PagePurge purge{};
  ASSERT_TRUE(purge.begin(slab));
  std::uint64_t most = 0;
  for (bool goes_on = true; goes_on;) {
    const std::uint64_t before = calls;
    goes_on = purge.step();
    most = std::max(most, calls - before);
  }
  EXPECT_EQ(most, unit_bytes / page_bytes / 2);
  EXPECT_EQ(purge.dropped_bytes(), blocks.size() / 2 * page_bytes);
  close_slab(slab);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Slab,
                         testing::Values(8, 16, 48, 112, 1000, 1008, 2064, 4096, 5000, 40000, 65536));

}  // namespace
}  // namespace heapwright::heap
