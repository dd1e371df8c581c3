// SPDX-License-Identifier: MIT
// Blocks that others freed of a thread that sleeps serve the threads that run.
#include "heap/threads/borrowed_blocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "../heap_programs/test_seed.hpp"
#include "heap/base/own_thread.hpp"
#include "heap/base/settings.hpp"
#include "heap/front/allocate.hpp"
#include "heap/pages/page_source.hpp"
#include "heap/service/maintenance.hpp"
#include "heap/service/process.hpp"
#include "heap/slabs/slab.hpp"
#include "heap/threads/caches.hpp"
#include "heap/threads/remote_free.hpp"
#include "heapwright/heap.h"
#include "no_maintenance.hpp"

namespace heapwright::heap {
namespace {

class BorrowedBlocks : public testing::Test {
 protected:
  static void SetUpTestSuite() { begin_without_maintenance(); }
  static void TearDownTestSuite() { end_without_maintenance(); }
  void SetUp() override {
    release(allocate(16));
    free_delayed(current_cache);
    finish_maintenance();
  }
  void TearDown() override { EXPECT_TRUE(heapwright_heap_is_valid()); }
};

// As if every thread had last been seen long ago, and had done nothing since.
void let_all_sleep() {
  const auto let_sleep = [](const ThreadCache& cache, void*) {
    auto& changed = const_cast<ThreadCache&>(cache);
    changed.seen_visits = std::uint32_t{cache.visits};
    changed.seen_ns = 1;
  };
  for_each_cache(let_sleep, nullptr);
}

// A thread that has made blocks and does nothing more until its end.
class Owner {
 public:
  Owner(std::size_t count, std::size_t bytes) : blocks(count) {
    thread_ = std::thread([this, bytes] {
      for (void*& block : blocks) block = allocate(bytes);
      is_done_ = true;
      is_done_.notify_one();
      is_over_.wait(false);
    });
    is_done_.wait(false);
  }
  ~Owner() {
    is_over_ = true;
    is_over_.notify_one();
    thread_.join();
  }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  std::vector<void*> blocks;

 private:
  std::atomic<bool> is_done_{false};
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

// Classes of their own, so that the tests have nothing from each other.
constexpr std::size_t block_count = 4000;

// Frees every other one, and returns those, in order.
std::vector<void*> free_half(Owner& owner) {
  std::vector<void*> freed;
  std::vector<void*> left;
  for (std::size_t i = 0; i < owner.blocks.size(); ++i) {
    (i % 2 == 0 ? freed : left).push_back(owner.blocks[i]);
  }
  for (void* block : freed) release(block);
  free_delayed(current_cache);
  owner.blocks = left;
  std::sort(freed.begin(), freed.end());
  return freed;
}

std::size_t count_among(const std::vector<void*>& places, const std::vector<void*>& blocks) {
  return static_cast<std::size_t>(std::count_if(blocks.begin(), blocks.end(), [&](void* block) {
    return std::binary_search(places.begin(), places.end(), block);
  }));
}

std::vector<void*> make_some(std::size_t count, std::size_t bytes) {
  std::vector<void*> made(count);
  for (void*& block : made) block = allocate(bytes);
  return made;
}

void free_all(const std::vector<void*>& blocks) {
  for (void* block : blocks) release(block);
}

std::uint64_t live_blocks() {
  heapwright_heap_statistics sums{};
  heapwright_heap_get_statistics(nullptr, &sums);
  return sums.live_blocks;
}

TEST_F(BorrowedBlocks, WhatIsFreeInASleepersSlabsComesBeforeNewOnes) {
  const std::uint64_t live = live_blocks();
  Owner owner(block_count, 720);
  const std::vector<void*> freed = free_half(owner);
  let_all_sleep();
  const std::vector<void*> made = make_some(1500, 720);
  EXPECT_GE(count_among(freed, made), 1300U);
  EXPECT_EQ(live_blocks(), live + 1500 + owner.blocks.size());
  // They go back as any other's do: with the last one the slabs are free.
  free_all(made);
  free_all(owner.blocks);
  free_delayed(current_cache);
  finish_maintenance();
  EXPECT_EQ(live_blocks(), live);
}

TEST_F(BorrowedBlocks, AThreadThatRunsLendsNothing) {
  Owner owner(block_count, 880);
  const std::vector<void*> freed = free_half(owner);
  const std::vector<void*> made = make_some(1500, 880);
  EXPECT_EQ(count_among(freed, made), 0U);
  free_all(made);
  free_all(owner.blocks);
}

TEST_F(BorrowedBlocks, WhatIsLeftWhenTheBorrowerEndsGoesBack) {
  const std::uint64_t live = live_blocks();
  {
    Owner owner(block_count, 1040);
    const std::vector<void*> freed = free_half(owner);
    let_all_sleep();
    std::thread([&] {
      void* const block = allocate(1040);
      EXPECT_TRUE(std::binary_search(freed.begin(), freed.end(), block));
      EXPECT_TRUE(std::any_of(std::begin(current_cache->slots), std::end(current_cache->slots),
                              [](const ClassSlot& slot) { return has_borrowed(slot); }));
      release(block);
    }).join();
    free_all(owner.blocks);
  }
  free_delayed(current_cache);
  finish_maintenance();
  EXPECT_EQ(live_blocks(), live);
  const auto expect_none = [](const ThreadCache& cache, void*) {
    if (!cache.is_idle) return;
    for (const ClassSlot& slot : cache.slots) EXPECT_FALSE(has_borrowed(slot));
  };
  for_each_cache(expect_none, nullptr);
}

TEST_F(BorrowedBlocks, AnOverwrittenLinkIsFound) {
  Owner owner(block_count, 656);
  const std::vector<void*> freed = free_half(owner);
  let_all_sleep();
  // What this thread has of its own comes first.
  std::vector<void*> made;
  do made.push_back(allocate(656));
  while (count_among(freed, {made.back()}) == 0 && made.size() < 500);
  ASSERT_LT(made.size(), 500U);
  void* const first = made.back();
  const auto overwrite_and_take = [&] {
    for (void* block : freed) {
      if (block != first) std::memset(block, 0x41, 8);
    }
    make_some(1500, 656);
  };
  EXPECT_DEATH(overwrite_and_take(), "write after free");
  free_all(made);
  free_all(owner.blocks);
}

constexpr std::size_t place_count = 4000;
std::array<std::atomic<std::uint32_t*>, place_count> places{};

// Puts a block into a place, and frees the one that was there.
void exchange_one(std::minstd_rand& random) {
  const std::uint32_t words = 8 + random() % 12 * 16;
  auto* block = static_cast<std::uint32_t*>(allocate(words * 4));
  std::fill_n(block, words, words);
  std::uint32_t* const old = places[random() % place_count].exchange(block);
  if (old == nullptr) return;
  const std::uint32_t old_words = *old;
  const bool is_whole =
      std::all_of(old, old + old_words, [&](std::uint32_t word) { return word == old_words; });
  if (!is_whole) ADD_FAILURE() << "a block was handed out twice";
  release(old);
}

// Everyone lends to everyone, whether asleep or not.
TEST_F(BorrowedBlocks, NoBlockHasTwoOwners) {
  constexpr unsigned thread_count = 4;
  constexpr int turns = 60'000;
  const std::uint64_t live = live_blocks();
  std::atomic<unsigned> running{thread_count};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < thread_count; ++i) {
    threads.emplace_back([&, seed = static_cast<unsigned>(test_seed()) + i] {
      std::minstd_rand random(seed);
      for (int turn = 0; turn < turns; ++turn) exchange_one(random);
      running.fetch_sub(1);
    });
  }
  while (running.load() != 0) {
    let_all_sleep();
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  for (std::atomic<std::uint32_t*>& place : places) {
    if (std::uint32_t* block = place.exchange(nullptr)) release(block);
  }
  free_delayed(current_cache);
  finish_maintenance();
  EXPECT_EQ(live_blocks(), live);
}

}  // namespace
}  // namespace heapwright::heap
