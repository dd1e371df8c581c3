// SPDX-License-Identifier: MIT
// length: one test for each way in which a thread is left behind
// What the other threads of a process held when it was forked, in the child.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "heap/base/size_class.hpp"
#include "heap/front/allocate.hpp"
#include "heap/pages/page_source.hpp"
#include "heap/service/process.hpp"
#include "heap/slabs/partial_pool.hpp"
#include "heap/threads/cache_check.hpp"
#include "heap/threads/caches.hpp"
#include "heap/threads/detached_blocks.hpp"
#include "heap/threads/remote_free.hpp"

namespace heapwright::heap {
namespace {

// The child's exit code is 0.
void expect_child(const std::function<int()>& in_child) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(in_child());
  }
  int status = -1;
  ASSERT_GT(child, 0);
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

using Blocks = std::vector<void*>;

Blocks make_blocks_of(std::size_t bytes, std::size_t count) {
  Blocks blocks(count);
  for (void*& block : blocks) block = allocate(bytes);
  return blocks;
}

// A thread that has done something and sleeps until this ends.
class Sleeper {
 public:
  explicit Sleeper(const std::function<void()>& work)
      : thread_([this, work] {
          work();
          is_done_ = true;
          is_done_.notify_all();
          is_over_.wait(false);
        }) {
    is_done_.wait(false);
  }
  ~Sleeper() {
    is_over_ = true;
    is_over_.notify_all();
    thread_.join();
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

 private:
  std::atomic<bool> is_done_{false};
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

class LeftBehind : public testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override { ASSERT_TRUE(initialize_process()); }
  static constexpr std::size_t count = 40000;
  // A long list is counted in several calls, which take fresh blocks meanwhile.
  static std::size_t least_percent() { return GetParam() < 64 ? 60 : 90; }
};

// Of blocks made now, how many of a hundred are in `freed`, which is sorted.
std::size_t reused_percent(std::size_t bytes, const Blocks& freed) {
  const Blocks blocks = make_blocks_of(bytes, freed.size());
  const auto is_freed = [&](void* block) { return std::binary_search(freed.begin(), freed.end(), block); };
  return static_cast<std::size_t>(std::count_if(blocks.begin(), blocks.end(), is_freed)) * 100 /
         blocks.size();
}

TEST_P(LeftBehind, BlocksThatTheirThreadFreedAreHandedOutInTheChild) {
  const std::size_t bytes = GetParam();
  Blocks freed;
  const Sleeper sleeper([&] {
    Blocks blocks = make_blocks_of(bytes, count);
    for (std::size_t i = 0; i < count; ++i) {
      if (i % 3 != 0) release(freed.emplace_back(blocks[i]));
    }
  });
  std::sort(freed.begin(), freed.end());
  expect_child([&] { return reused_percent(bytes, freed) >= least_percent() ? 0 : 1; });
}

TEST_P(LeftBehind, BlocksThatTheChildFreesAreHandedOutThere) {
  const std::size_t bytes = GetParam();
  Blocks blocks;
  const Sleeper sleeper([&] { blocks = make_blocks_of(bytes, count); });
  expect_child([&] {
    Blocks freed;
    for (std::size_t i = 0; i < count; ++i) {
      if (i % 3 != 0) release(freed.emplace_back(blocks[i]));
    }
    std::sort(freed.begin(), freed.end());
    return reused_percent(bytes, freed) >= least_percent() ? 0 : 1;
  });
}

// As a fork may find it: a block is out of the list, and not counted yet.
struct HalfTaken {
  explicit HalfTaken(BlockList* from) : list(from), block(from->free_list) {
    list->free_list = block->next();
  }
  ~HalfTaken() { list->free_list = block; }
  HalfTaken(const HalfTaken&) = delete;
  HalfTaken& operator=(const HalfTaken&) = delete;

  BlockList* list;
  Block* block;
};

// What others freed of the first slab is in a list of its thread's cache.
TEST_P(LeftBehind, BlocksOfADetachedListAreHandedOutOnce) {
  const std::size_t bytes = GetParam();
  Blocks blocks;
  UnitLine* slab = nullptr;
  const auto is_detached = [](void* block) {
    const BlockList* list = detached_list(current_cache, head_line_of(block));
    return list != nullptr && list->free_list != nullptr;
  };
  std::atomic<int> step{0};
  std::thread maker([&] {
    blocks = make_blocks_of(bytes, count);
    step = 1;
    while (step != 2) std::this_thread::yield();
    // Until they come from such a list; one of them goes into the slab's own.
    std::size_t i = 0;
    for (; i < count && !(i >= 4 && is_detached(blocks[i - 2])); i += 2) blocks[i] = allocate(bytes);
    slab = head_line_of(blocks[i - 2]);
    release(std::exchange(blocks[i - 2], nullptr));
    step = 3;
    while (step != 4) std::this_thread::yield();
  });
  while (step != 1) std::this_thread::yield();
  Blocks freed;
  for (std::size_t i = 0; i < count; i += 2) release(freed.emplace_back(std::exchange(blocks[i], nullptr)));
  free_delayed(current_cache);
  step = 2;
  while (step != 3) std::this_thread::yield();
  BlockList* detached = detached_list(slab->owner, slab);
  ASSERT_NE(detached, nullptr);
  const HalfTaken first(detached);
  const HalfTaken second(slab);
  std::erase_if(freed, [&](void* block) {
    return head_line_of(block) != slab || block == first.block || block == second.block;
  });
  std::erase(blocks, nullptr);
  expect_child([&] {
    Blocks made = make_blocks_of(bytes, count);
    made.insert(made.end(), blocks.begin(), blocks.end());
    std::sort(made.begin(), made.end());
    const auto is_made = [&](void* block) { return std::binary_search(made.begin(), made.end(), block); };
    if (std::adjacent_find(made.begin(), made.end()) != made.end()) return 1;
    return std::all_of(freed.begin(), freed.end(), is_made) ? 0 : 2;
  });
  step = 4;
  maker.join();
}

// Their thread may have been changing them.
TEST_P(LeftBehind, SlabsInListsThatWereHeldAreLeftAlone) {
  const std::size_t bytes = GetParam();
  Blocks freed;
  ThreadCache* cache = nullptr;
  const Sleeper sleeper([&] {
    Blocks blocks = make_blocks_of(bytes, count);
    for (std::size_t i = 0; i < count; i += 2) release(freed.emplace_back(blocks[i]));
    cache = current_cache;
  });
  std::sort(freed.begin(), freed.end());
  ASSERT_TRUE(cache->lists.try_lock());
  expect_child([&] { return reused_percent(bytes, freed) == 0 ? 0 : 1; });
  cache->lists.unlock();
}

INSTANTIATE_TEST_SUITE_P(Bytes, LeftBehind, testing::Values(16, 64, 200, 1000));

// So few are of a coarser class's slabs.
TEST(LeftBehindFew, BlocksOfTheCoarserClassAreHandedOut) {
  ASSERT_TRUE(initialize_process());
  constexpr std::size_t bytes = 712;
  ASSERT_NE(size_classes[class_of(bytes)].coarse, class_of(bytes));
  Blocks freed;
  const Sleeper sleeper([&] {
    Blocks blocks = make_blocks_of(bytes, 200);
    for (std::size_t i = 0; i < blocks.size(); i += 2) release(freed.emplace_back(blocks[i]));
  });
  std::sort(freed.begin(), freed.end());
  expect_child([&] { return reused_percent(bytes, freed) >= 60 ? 0 : 1; });
}

TEST(LeftBehindCaches, AreThoseOfOtherThreadsThatLived) {
  ASSERT_TRUE(initialize_process());
  release(allocate(16));
  ThreadCache* ended = nullptr;
  ThreadCache* other = nullptr;
  const Sleeper sleeper([&] {
    release(allocate(16));
    other = current_cache;
  });
  std::thread([&] {
    release(allocate(16));
    ended = current_cache;
  }).join();
  EXPECT_FALSE(is_left_behind(other));
  expect_child([&] {
    const bool is_wrong = !is_left_behind(other) || is_left_behind(ended) || is_left_behind(current_cache);
    return is_wrong ? 1 : 0;
  });
}

// Threads that allocate, free and free for each other when they are left behind.
class Storm {
 public:
  static constexpr std::size_t threads = 4;
  static constexpr std::size_t slots = 400;
  static constexpr std::array<std::size_t, 5> sizes{16, 48, 64, 300, 1500};

  Storm() {
    for (std::size_t i = 0; i < threads; ++i) {
      threads_.emplace_back([this, i] { work(static_cast<std::uint32_t>(i)); });
    }
    // A thread that starts holds locks of AddressSanitizer's own heap, which a fork leaves held.
    while (working_ < threads) std::this_thread::yield();
  }
  ~Storm() {
    is_over_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Storm(const Storm&) = delete;
  Storm& operator=(const Storm&) = delete;

  // Whoever reads a block here owns what it holds.
  bool all_are_intact() const {
    return std::all_of(table_.begin(), table_.end(), [](const std::atomic<std::uint32_t*>& place) {
      const std::uint32_t* block = place.load();
      return block == nullptr || (block[0] ^ block[1]) == mark;
    });
  }
  void free_some() {
    for (std::size_t i = 0; i < table_.size(); i += 3) release(table_[i].exchange(nullptr));
  }

 private:
  static constexpr std::uint32_t mark = 0x5bd1e995;

  void work(std::uint32_t seed) {
    std::minstd_rand random(seed + 1);
    ++working_;
    while (!is_over_) {
      std::atomic<std::uint32_t*>& place = table_[random() % table_.size()];
      if (std::uint32_t* old = place.exchange(nullptr)) {
        release(old);
        continue;
      }
      auto* block = static_cast<std::uint32_t*>(allocate(sizes[random() % sizes.size()]));
      block[0] = static_cast<std::uint32_t>(random());
      block[1] = block[0] ^ mark;
      release(place.exchange(block));
    }
  }

  std::array<std::atomic<std::uint32_t*>, threads * slots> table_{};
  std::atomic<std::size_t> working_{0};
  std::atomic<bool> is_over_{false};
  std::vector<std::thread> threads_;
};

// ThreadSanitizer and qemu stop a child that starts one where its parent had several.
#if defined(__SANITIZE_THREAD__) || defined(HEAPWRIGHT_EMULATED)
constexpr bool can_start_threads = false;
#else
constexpr bool can_start_threads = true;
#endif

// Overwrites what it gets, so a block that is live as well is seen.
int use_heap(Storm& storm) {
  for (int round = 0; round < 3; ++round) {
    Blocks made;
    for (int i = 0; i < 3000; ++i) {
      const std::size_t bytes = Storm::sizes[static_cast<std::size_t>(i) % Storm::sizes.size()];
      made.push_back(std::memset(allocate(bytes), 0xee, bytes));
    }
    if (!storm.all_are_intact()) return 1;
    storm.free_some();
    if (!cache_is_valid(current_cache)) return 2;
    std::sort(made.begin(), made.end());
    if (std::adjacent_find(made.begin(), made.end()) != made.end()) return 3;
    for (std::size_t i = 0; i < made.size(); i += 2) release(made[i]);
  }
  return pool_is_valid() ? 0 : 4;
}

TEST(LeftBehindStorm, NoLiveBlockIsHandedOut) {
  ASSERT_TRUE(initialize_process());
  const auto storm = std::make_unique<Storm>();
  for (int forks = 0; forks < 25 && !testing::Test::HasFailure(); ++forks) {
    expect_child([&] {
      int wrong = use_heap(*storm);
      if (can_start_threads) std::thread([&] { wrong += use_heap(*storm) * 10; }).join();
      const pid_t child = fork();
      if (child == 0) _exit(use_heap(*storm));
      int status = -1;
      waitpid(child, &status, 0);
      return wrong + (status != 0 ? 100 : 0);
    });
  }
}

}  // namespace
}  // namespace heapwright::heap
