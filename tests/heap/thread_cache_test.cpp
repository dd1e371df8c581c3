// SPDX-License-Identifier: MIT
// What others freed is handed out from a list of the cache's own, so that the
// slab's line is theirs alone meanwhile.
#include "heap/threads/thread_cache.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <set>
#include <thread>
#include <vector>

#include "heap/front/allocate.hpp"
#include "heap/service/maintenance.hpp"
#include "heap/service/process.hpp"
#include "heap/slabs/partial_pool.hpp"
#include "heap/threads/cache_check.hpp"
#include "heap/threads/caches.hpp"
#include "heap/threads/remote_free.hpp"
#include "heap/threads/slab_events.hpp"
#include "heapwright/heap.h"

namespace heapwright::heap {
namespace {

class DetachedBlocks : public testing::Test {
 protected:
  static void SetUpTestSuite() { settings.has_maintenance_thread = false; }
  void TearDown() override { EXPECT_TRUE(heapwright_heap_is_valid()); }
};

// Each test has a class of its own that no slab of another thread serves.
std::vector<void*> fill_slab(std::size_t block_bytes) {
  std::vector<void*> blocks(unit_bytes / block_bytes);
  for (void*& block : blocks) block = allocate(block_bytes);
  EXPECT_EQ(line_at(blocks.front()), line_at(blocks.back()));
  return blocks;
}

void release_elsewhere(const std::vector<void*>& blocks) {
  std::thread([&] {
    for (void* block : blocks) release(block);
  }).join();
}

std::size_t live_blocks() {
  heapwright_heap_statistics statistics{};
  EXPECT_EQ(heapwright_heap_get_statistics(nullptr, &statistics), 0);
  return statistics.live_blocks;
}

TEST_F(DetachedBlocks, AreHandedOutWithoutAWriteToTheSlabsLine) {
  std::thread([] {
    std::vector<void*> blocks = fill_slab(1024);
    const UnitLine* slab = line_at(blocks[0]);
    void* const kept = blocks.back();
    blocks.pop_back();
    release_elsewhere(blocks);
    std::set<void*> again{allocate(1024)};  // takes what was freed
    const std::uint32_t freed = slab->freed;
    const std::uint32_t taken = slab->taken;
    while (again.size() < blocks.size()) again.insert(allocate(1024));
    EXPECT_EQ(again, std::set<void*>(blocks.begin(), blocks.end()));
    EXPECT_EQ(slab->freed, freed);
    EXPECT_EQ(slab->taken, taken);
    for (void* block : again) release(block);
    release(kept);
  }).join();
}

TEST_F(DetachedBlocks, CountAsFreeWhenTheRestOfTheSlabIs) {
  std::thread([] {
    const std::size_t live_before = live_blocks();
    std::vector<void*> blocks = fill_slab(896);
    const UnitLine* slab = line_at(blocks[0]);
    release_elsewhere({blocks.begin() + 20, blocks.end()});
    blocks.resize(20);
    blocks.push_back(allocate(896));
    EXPECT_NE(current_cache->detached.in_use, 0U);
    EXPECT_EQ(live_blocks(), live_before + blocks.size());
    EXPECT_FALSE(has_flag(slab, is_kept));
    for (void* block : blocks) release(block);
    EXPECT_TRUE(has_flag(slab, is_kept));  // as an empty slab that is the only one of its class
    EXPECT_TRUE(cache_is_valid(current_cache));
  }).join();
}

// Its owner freed the first of them, and so it waits with the watch that it had when it was full.
TEST_F(DetachedBlocks, ASlabInTheQueueIsClosedWhenOthersFreedTheRest) {
  std::thread([] {
    std::vector<void*> blocks = fill_slab(640);
    const UnitLine* slab = line_at(blocks[0]);
    std::vector<void*> others = fill_slab(640);  // only now the first is known to be full
    const auto middle = blocks.begin() + 50;
    for (auto block = blocks.begin(); block != blocks.begin() + 20; ++block) release(*block);
    EXPECT_TRUE(has_flag(slab, is_listed));
    release_elsewhere({blocks.begin() + 20, middle});
    EXPECT_TRUE(collect_notices(current_cache, 1));
    EXPECT_EQ(slab->kind, UnitKind::slab);
    release_elsewhere({middle, blocks.end()});
    EXPECT_TRUE(collect_notices(current_cache, 1));
    EXPECT_NE(slab->kind, UnitKind::slab);
    for (void* block : others) release(block);
  }).join();
}

TEST_F(DetachedBlocks, OfAThreadThatEndedServeOthers) {
  std::vector<void*> blocks;
  void* taken = nullptr;
  std::thread([&] {
    blocks = fill_slab(768);
    release_elsewhere({blocks.begin() + 2, blocks.end()});
    taken = allocate(768);
    EXPECT_NE(current_cache->detached.in_use, 0U);
    release(blocks[1]);  // now both lists of the slab's owner have blocks
  }).join();
  while (maintain(100, 0) != 0) {
  }
  const UnitLine* slab = line_at(taken);
  EXPECT_EQ(slab->owner.load(), nullptr);
  EXPECT_TRUE(has_flag(slab, is_pooled));
  std::set<void*> claimed;
  std::size_t of_slab = 0;
  while (of_slab < blocks.size() - 2 && claimed.size() < 100'000) {
    void* block = allocate(768);
    ASSERT_TRUE(claimed.insert(block).second);
    of_slab += line_at(block) == slab ? 1 : 0;
  }
  EXPECT_EQ(of_slab, blocks.size() - 2);
  EXPECT_EQ(claimed.count(taken) + claimed.count(blocks[0]), 0U);
  for (void* block : claimed) release(block);
  release(taken);
  release(blocks[0]);
}

// Three lists, and the pool takes two: maintenance must not try for ever, and hears when the rest is free.
TEST_F(DetachedBlocks, OfASlabWithTwoOtherListsWaitForTheRest) {
  std::vector<void*> live;
  std::thread([&] {
    std::vector<void*> blocks = fill_slab(512);
    const auto begin = blocks.begin();
    release_elsewhere({begin + 40, blocks.end()});
    live.push_back(allocate(512));
    EXPECT_NE(current_cache->detached.in_use, 0U);
    for (auto block = begin + 30; block != begin + 40; ++block) release(*block);
    release_elsewhere({begin + 20, begin + 30});
    live.insert(live.end(), begin, begin + 20);
  }).join();
  const UnitLine* slab = line_at(live[0]);
  for (int i = 0; i < 1000 && maintain(100, 0) == 100; ++i) {
  }
  EXPECT_EQ(maintain(100, 0), 0U);
  EXPECT_NE(slab->owner.load(), nullptr);
  EXPECT_TRUE(heapwright_heap_is_valid());
  for (void* block : live) release(block);
  free_delayed(current_cache);
  while (maintain(100, 0) != 0) {
  }
  EXPECT_NE(slab->kind, UnitKind::slab);
}

void work_in_threads(int threads) {
  std::barrier all(threads);
  std::vector<std::thread> started;
  for (int i = 0; i < threads; ++i) {
    started.emplace_back([&all] {
      void* const block = allocate(100);
      all.arrive_and_wait();
      release(block);
    });
  }
  for (std::thread& thread : started) thread.join();
}

void tidy_all() {
  for (int i = 0; i < 100'000 && has_untidy_caches(); ++i) tidy_idle_cache(current_tick(), 0);
}

// A look is at 64 of them.
TEST(IdleCaches, AreAllTidiedHoweverManyThereAre) {
  settings.has_maintenance_thread = false;
  ASSERT_TRUE(initialize_process());
  const pid_t child = fork();  // so many caches are of no use to other tests
  if (child == 0) {
    work_in_threads(200);
    int wrong = has_untidy_caches() ? 0 : 1;
    tidy_all();
    if (has_untidy_caches() || tidy_idle_cache(current_tick(), 0)) wrong |= 2;
    if (heapwright_heap_is_valid() == 0) wrong |= 4;
    _exit(wrong);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

ThreadCache* cache_of_a_new_thread() {
  ThreadCache* cache = nullptr;
  std::thread([&cache] {
    release(allocate(100));
    cache = current_cache;
  }).join();
  return cache;
}

TEST(IdleCaches, AreNoThreadsWhileTheyAreTidied) {
  settings.has_maintenance_thread = false;
  ASSERT_TRUE(initialize_process());
  ThreadCache* const idle = cache_of_a_new_thread();
  EXPECT_EQ(cache_of_a_new_thread(), idle);
  idle->is_being_tidied = true;
  ThreadCache* const other = cache_of_a_new_thread();
  EXPECT_NE(other, idle);
  idle->is_being_tidied = false;
  EXPECT_EQ(cache_of_a_new_thread(), other);
  tidy_all();
  EXPECT_EQ(cache_of_a_new_thread(), other);
}

TEST(IdleCaches, AreIdleNoMoreWithAThread) {
  settings.has_maintenance_thread = false;
  ASSERT_TRUE(initialize_process());
  ThreadCache* const idle = cache_of_a_new_thread();
  std::thread([&] {
    void* const block = allocate(100);
    EXPECT_EQ(current_cache, idle);
    EXPECT_FALSE(idle->is_tidy);
    tidy_all();  // others
    EXPECT_FALSE(tidy_idle_cache(current_tick(), 0));
    EXPECT_FALSE(idle->is_tidy);
    EXPECT_NE(allocate(100), block);
  }).join();
}

// Each of so many sizes leaves sparse slabs, which the next one cannot use: most come from the coarser class.
TEST(Classes, FewSizesThatComeAndGoLeaveSlabsOfTheirOwn) {
  ASSERT_TRUE(initialize_process());
  settings.gives_back_on_calls = false;  // or they would become mixed
  constexpr std::size_t least_bytes = 1040;
  constexpr std::size_t most_bytes = 2048;
  constexpr std::size_t bytes_of_each = 8'000'000;
  std::vector<void*> blocks;
  std::vector<void*> kept;
  const std::size_t before = pooled_bytes();
  for (std::size_t bytes = least_bytes; bytes <= most_bytes; bytes += 16) {
    for (std::size_t made = 0; made < bytes_of_each; made += bytes) blocks.push_back(allocate(bytes));
    for (std::size_t i = 0; i < blocks.size(); ++i)
      i % 25 == 0 ? kept.push_back(blocks[i]) : release(blocks[i]);
    blocks.clear();
  }
  const std::size_t left = (pooled_bytes() - before) / bytes_of_each;
  EXPECT_LE(left, 10U);
  EXPECT_GE(left, 5U);
  for (void* block : kept) release(block);
  settings.gives_back_on_calls = true;
}

std::uint64_t purged_bytes() { return counters_page->heap.purged_bytes.load(); }

// Blocks of `bytes`, of which one of 64 is kept.
void leave_sparse(std::size_t bytes, std::vector<void*>& kept) {
  std::vector<void*> blocks;
  for (std::size_t made = 0; made < 64'000'000; made += bytes) blocks.push_back(allocate(bytes));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    i % 64 == 0 ? kept.push_back(blocks[i]) : release(blocks[i]);
  }
}

// Slabs of several units, which do not become mixed. Nothing has rested for the decay time by then.
TEST(Growth, BesideSparseSlabsTakesTheirPagesAtOnce) {
  settings.has_maintenance_thread = false;
  settings.decay_ms = 600'000;
  ASSERT_TRUE(initialize_process());
  while (maintain(100, 0) != 0) {
  }
  std::vector<void*> kept;
  leave_sparse(3072, kept);
  const std::uint64_t before = purged_bytes();
  leave_sparse(2048, kept);
  EXPECT_GE(purged_bytes() - before, 20'000'000U);
  for (void* block : kept) release(block);
}

TEST(Growth, ThereIsNoneWhereSparseSlabsServe) {
  settings.has_maintenance_thread = false;
  settings.decay_ms = 600'000;
  ASSERT_TRUE(initialize_process());
  std::vector<void*> kept;
  leave_sparse(3072, kept);
  while (maintain(100, 0) != 0) {
  }
  leave_sparse(3072, kept);
  const std::uint64_t before = purged_bytes();
  for (int turn = 0; turn < 3; ++turn) leave_sparse(3072, kept);
  EXPECT_LE(purged_bytes() - before, 10'000'000U);
  for (void* block : kept) release(block);
}

}  // namespace
}  // namespace heapwright::heap
