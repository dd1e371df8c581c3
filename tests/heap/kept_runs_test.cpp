// SPDX-License-Identifier: MIT
// What a thread keeps for its next blocks of 64 to 128 KiB, and who else gets it.
#include "heap/pages/kept_runs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>
#include <vector>

#include "heap/base/own_thread.hpp"
#include "heap/base/settings.hpp"
#include "heap/base/waiting.hpp"
#include "heap/front/allocate.hpp"
#include "heap/pages/free_runs.hpp"
#include "heap/pages/page_source.hpp"
#include "heap/service/maintenance.hpp"
#include "heap/service/process.hpp"
#include "heap/threads/caches.hpp"
#include "heapwright/heap.h"
#include "no_maintenance.hpp"

namespace heapwright::heap {
namespace {

constexpr std::size_t kept_block_bytes = 100'000;

class KeptRunsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    begin_without_maintenance();
    // None of the blocks below is among the few that lie between guards: not one of the process's first, nor
    // one drawn at random. One drawn among these 16 would leave a hole between the places of the others.
    current_cache->large_left = 1'000'000;
    for (int i = 0; i < 16; ++i) release(allocate(kept_block_bytes));
  }
  static void TearDownTestSuite() {
    current_cache->large_left = 0;
    settings.gives_back_on_calls = true;
  }
  void SetUp() override { finish_maintenance(); }
  void TearDown() override { EXPECT_TRUE(heapwright_heap_is_valid()); }
};

// That lie behind each other.
std::vector<void*> make_in_a_row(std::size_t count) {
  std::vector<void*> blocks(count);
  for (void*& block : blocks) block = allocate(kept_block_bytes);
  std::sort(blocks.begin(), blocks.end());
  return blocks;
}

std::uint64_t kept_here() { return kept_count(current_cache->kept); }

TEST_F(KeptRunsTest, TwoStayWithTheirThread) {
  const std::vector<void*> blocks = make_in_a_row(3);
  const std::uint64_t dirty = dirty_bytes();
  for (void* block : blocks) release(block);
  EXPECT_EQ(kept_here(), 2U);
  heapwright_heap_statistics sums{};
  heapwright_heap_get_statistics(nullptr, &sums);
  EXPECT_EQ(sums.retained_bytes - dirty, 3 * kept_units * unit_bytes);
  EXPECT_EQ(dirty_bytes() - dirty, kept_units * unit_bytes);
}

TEST_F(KeptRunsTest, TheNextBlockLiesWhereTheLastOneDid) {
  void* const first = allocate(kept_block_bytes);
  release(first);
  void* const second = allocate(70'000);
  EXPECT_EQ(second, first);
  EXPECT_EQ(kept_here(), 0U);
  EXPECT_EQ(usable_bytes(second), 73'728U);
  release(second);
}

TEST_F(KeptRunsTest, LongerAndShorterBlocksAreNotKept) {
  for (const std::size_t bytes : {65'536 - 4096, 131'073, 300'000}) {
    release(allocate(bytes));
    EXPECT_EQ(kept_here(), 0U) << bytes;
  }
}

TEST_F(KeptRunsTest, OldBytesAreNotInWhatCallocReturns) {
  void* const first = allocate(kept_block_bytes);
  std::memset(first, 1, kept_block_bytes);
  release(first);
  const auto* second = static_cast<const char*>(allocate_zeroed(kept_block_bytes));
  ASSERT_EQ(second, first);
  EXPECT_TRUE(std::all_of(second, second + kept_block_bytes, [](char byte) { return byte == 0; }));
  release(const_cast<char*>(second));
}

TEST_F(KeptRunsTest, ALongerBlockGetsThemBeforeFreshMemory) {
  void* const longer = allocate(4 * unit_bytes);
  release(longer);
  finish_maintenance();
  const std::vector<void*> blocks = make_in_a_row(2);
  release(blocks[0]);
  release(blocks[1]);
  ASSERT_EQ(kept_here(), 2U);
  void* const one = allocate(4 * unit_bytes);
  EXPECT_EQ(one, blocks[0]);
  EXPECT_EQ(kept_here(), 0U);
  release(one);
}

TEST_F(KeptRunsTest, ABlockGrowsIntoWhatIsKeptBehindIt) {
  const std::vector<void*> blocks = make_in_a_row(2);
  ASSERT_EQ(static_cast<char*>(blocks[0]) + kept_units * unit_bytes, blocks[1]);
  release(blocks[1]);
  void* const grown = reallocate(blocks[0], 4 * unit_bytes);
  EXPECT_EQ(grown, blocks[0]);
  release(grown);
}

TEST_F(KeptRunsTest, AnotherThreadGetsThemBeforeFreshMemory) {
  const std::vector<void*> blocks = make_in_a_row(2);
  std::atomic<int> step{0};
  std::thread other([&] {
    release(allocate(16));  // what a thread begins with may take from them, too
    current_cache->large_left = 1'000'000;
    step = 1;
    while (step != 2) std::this_thread::yield();
    void* const one = allocate(4 * unit_bytes);
    EXPECT_EQ(one, blocks[0]);
    release(one);
  });
  while (step != 1) std::this_thread::yield();
  release(blocks[0]);
  release(blocks[1]);
  step = 2;
  other.join();
  EXPECT_EQ(kept_here(), 0U);
}

TEST_F(KeptRunsTest, MaintenanceGivesBackWhatHasWaited) {
  constexpr std::uint16_t age = 64;
  void* const block = allocate(kept_block_bytes);
  std::memset(block, 1, kept_block_bytes);
  release(block);
  EXPECT_TRUE(has_dirty_runs());
  const std::uint16_t now = current_tick();
  EXPECT_EQ(purge_oldest_run(static_cast<std::uint16_t>(now + age - 1), age), 0U);
  EXPECT_EQ(kept_here(), 1U);
  EXPECT_EQ(purge_oldest_run(static_cast<std::uint16_t>(now + age), age), kept_units);
  EXPECT_EQ(kept_here(), 0U);
  EXPECT_FALSE(has_dirty_runs());
}

TEST_F(KeptRunsTest, OfManyThreadsAllGoBack) {
  constexpr int count = 100;
  std::vector<std::thread> threads;
  std::atomic<int> ready{0};
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&] {
      void* const block = allocate(kept_block_bytes);
      ready.fetch_add(1);
      while (ready.load() < count) std::this_thread::yield();
      release(block);
    });
  }
  for (std::thread& thread : threads) thread.join();
  // Each piece looks at a few threads.
  for (int i = 0; i < 100; ++i) purge_oldest_run(current_tick(), 0);
  EXPECT_FALSE(has_dirty_runs());
}

TEST_F(KeptRunsTest, ASecondFreeIsFound) {
  void* const block = allocate(kept_block_bytes);
  release(block);
  EXPECT_DEATH(release(block), "free of 0x[0-9a-f]+, which is no block of this heap");
}

}  // namespace
}  // namespace heapwright::heap
