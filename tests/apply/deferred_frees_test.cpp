// SPDX-License-Identifier: MIT
#include "apply/deferred_frees.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "apply/remedies.hpp"
#include "apply/site_heaps.hpp"

namespace heapwright::apply {
namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 20;

// One remedy for the whole process.
void begin() {
  static const auto remedies = [] {
    auto made = std::make_unique<Remedies>();
    made->remedy_count = 1;
    made->remedies[0].kind = RemedyKind::defer;
    std::strcpy(made->remedies[0].site, "site");
    EXPECT_TRUE(make_site_heaps(*made));
    start_deferring();
    return made;
  }();
}

std::vector<void*> blocks(std::size_t count, std::size_t bytes) {
  std::vector<void*> made(count);
  for (void*& block : made) {
    block = allocate_for(0, bytes, 16);
    EXPECT_NE(block, nullptr);
  }
  return made;
}

// A thread of another one may have been in the way of a few.
TEST(DeferredFrees, NoMoreWaitThanTheBound) {
  begin();
  const std::uint64_t before = deferred_frees(0);
  for (void* block : blocks(100, block_bytes)) release_own(block);
  const std::uint64_t waited = deferred_frees(0) - before;
  EXPECT_LE(waited, most_waiting_bytes / block_bytes);
  EXPECT_GE(waited, most_waiting_bytes / block_bytes / 2);
  release_waiting();
}

TEST(DeferredFrees, AThreadReleasesThem) {
  begin();
  const std::uint64_t before = deferred_frees(0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 20; ++i) {
    threads.emplace_back([] {
      for (void* block : blocks(10'000, 100)) release_own(block);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(deferred_frees(0), before);
  heapwright_heap_statistics sums{};
  for (int i = 0; i < 1000; ++i) {
    sums = statistics_of(0);
    if (sums.live_blocks == 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(sums.live_blocks, 0U);
}

TEST(DeferredFrees, AChildOfAForkFreesAtOnce) {
  begin();
  for (void* block : blocks(1000, 100)) release_own(block);
  const pid_t child = fork();
  if (child == 0) {
    stop_deferring_in_child();
    const std::uint64_t before = deferred_frees(0);
    release_own(allocate_for(0, 100, 16));
    const bool is_right = deferred_frees(0) == before && statistics_of(0).live_blocks <= 1;
    _exit(is_right ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(DeferredFreesDeathTest, ABlockThatWaitsIsNotFreedAgain) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        begin();
        void* block = allocate_for(0, 100, 16);
        release_own(block);
        release_own(block);
      },
      "freed twice|double free|already");
}

}  // namespace
}  // namespace heapwright::apply
