// SPDX-License-Identifier: MIT
#include "heapwright/deferred_free.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using heapwright::deferred_free;
using namespace std::chrono_literals;

struct Noted {
  static inline std::atomic<int> live{0};
  static inline std::vector<int> order;
  explicit Noted(int n) : number(n) { ++live; }
  ~Noted() {
    --live;
    if (keeps_order) order.push_back(number);
  }
  static inline bool keeps_order = false;
  int number;
};

TEST(DeferredFree, FreesInOrderWhenDrained) {
  Noted::order.clear();
  Noted::keeps_order = true;
  deferred_free queue;
  for (int i = 0; i < 100; ++i) queue.defer(new Noted(i));
  EXPECT_EQ(Noted::live, 100);
  EXPECT_EQ(queue.drain(), 100U);
  EXPECT_EQ(Noted::live, 0);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Noted::order[static_cast<std::size_t>(i)], i);
  Noted::keeps_order = false;
}

TEST(DeferredFree, FreesCheapObjectsAtOnce) {
  deferred_free queue;
  queue.defer(std::make_unique<std::vector<int>>(10));
  EXPECT_EQ(queue.statistics().pending, 0U);
  EXPECT_EQ(queue.statistics().freed_at_once, 1U);
  queue.defer(std::make_unique<std::vector<int>>(1000));
  EXPECT_EQ(queue.statistics().pending, 1U);
  std::unique_ptr<Noted> nothing;
  queue.defer(std::move(nothing));
  EXPECT_EQ(queue.statistics().pending, 1U);
}

// Ten times as much comes in as the ring holds and nobody drains.
TEST(DeferredFree, NeverExceedsItsBound) {
  deferred_free queue({.entries = 128});
  for (int i = 0; i < 1280; ++i) {
    queue.defer(new Noted(i));
    ASSERT_LE(queue.statistics().pending, 128U);
    ASSERT_LE(Noted::live, 128);
  }
  EXPECT_GT(queue.statistics().drained_by_caller, 0U);
  queue.barrier();
  EXPECT_EQ(Noted::live, 0);
  EXPECT_EQ(queue.statistics().freed, queue.statistics().deferred);
}

TEST(DeferredFree, StopsAtItsTimeBudget) {
  deferred_free queue;
  struct Slow {
    ~Slow() { std::this_thread::sleep_for(2ms); }
  };
  for (int i = 0; i < 10; ++i) queue.defer(new Slow);
  EXPECT_EQ(queue.drain(1ms), 1U) << "the first one overruns the budget";
  EXPECT_EQ(queue.statistics().pending, 9U);
}

// A destructor that defers does not grow the queue that is being drained.
TEST(DeferredFree, FreesAtOnceWithinADrain) {
  struct Parent {
    deferred_free& queue;
    Noted* child;
    ~Parent() { queue.defer(child); }
  };
  deferred_free queue({.entries = 4});
  for (int i = 0; i < 4; ++i) queue.defer(new Parent{queue, new Noted(i)});
  queue.drain();
  EXPECT_EQ(Noted::live, 0);
  EXPECT_EQ(queue.statistics().pending, 0U);
}

TEST(DeferredFree, BackgroundThreadFrees) {
  static std::atomic<int> flushes{0};
  deferred_free queue({.entries = 64, .has_background_thread = true, .after_drain = [] { ++flushes; }});
  for (int i = 0; i < 2000; ++i) queue.defer(new Noted(i));
  for (int i = 0; i < 5000 && Noted::live != 0; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(Noted::live, 0);
  EXPECT_GT(flushes, 0);
  for (int i = 0; i < 50; ++i) queue.defer(new Noted(i));
  queue.barrier();
  EXPECT_EQ(Noted::live, 0);
}

// Several owners, each with a background thread, and small rings: callers and
// background threads drain at the same time.
TEST(DeferredFree, OwnersAndBackgroundThreadsDrainTogether) {
  std::vector<std::thread> owners;
  for (int t = 0; t < 3; ++t) {
    owners.emplace_back([] {
      deferred_free queue({.entries = 16, .has_background_thread = true});
      for (int i = 0; i < 3000; ++i) {
        queue.defer(new Noted(i));
        if (i % 100 == 0) queue.drain(10us);
        EXPECT_LE(queue.statistics().pending, 16U);
      }
      queue.barrier();
      EXPECT_EQ(queue.statistics().pending, 0U);
    });
  }
  for (auto& owner : owners) owner.join();
  EXPECT_EQ(Noted::live, 0);
}

TEST(DeferredFree, SharedPointersDeferTheirObject) {
  const auto in_a_thread = [] {
    auto table = heapwright::make_shared_deferred<std::vector<std::string>>(1000, "text");
    const auto second = table;
    table.reset();
    EXPECT_EQ(deferred_free::of_thread()->statistics().pending, 0U);
    auto noted = heapwright::make_shared_deferred<Noted>(1);
    noted.reset();
    EXPECT_EQ(Noted::live, 1) << "deferred, not freed";
  };
  std::thread(in_a_thread).join();
  EXPECT_EQ(Noted::live, 0) << "the thread's end frees the rest";
}

TEST(DeferredFree, SurvivesAFork) {
  deferred_free background({.has_background_thread = true});
  deferred_free queue;
  for (int i = 0; i < 100; ++i) {
    queue.defer(new Noted(i));
    background.defer(new Noted(i));
  }
  const pid_t child = fork();
  if (child == 0) {
    queue.barrier();
    background.defer(new Noted(1));
    background.barrier();
    _exit(Noted::live == 0 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  queue.barrier();
  background.barrier();
  EXPECT_EQ(Noted::live, 0);
}

TEST(ExitPolicy, IsDestroyWhereTheHeapIsWatched) {
  const heapwright::lives_until_exit<std::string> text(heapwright::exit_policy::bury, "text");
  EXPECT_EQ(*text, "text");
  EXPECT_EQ(text.policy() == heapwright::exit_policy::destroy, heapwright::is_heap_watched());
}

}  // namespace
