// SPDX-License-Identifier: MIT
#include "heapwright/deferred_free.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
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

TEST(DeferredFree, ABoundThatNoMemoryHasIsRefused) {
  if (HEAPWRIGHT_ASAN) GTEST_SKIP() << "its operator new ends the program instead";
  EXPECT_THROW(deferred_free({.entries = ~std::size_t{0}}), std::bad_alloc);
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
    auto table = heapwright::make_shared_deferred<std::vector<std::string>>(std::size_t{1000}, "text");
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

// The child has no background thread to wait for.
TEST(DeferredFree, AForksChildDestroysAQueueWithABackgroundThread) {
  auto queue = std::make_unique<deferred_free>(
      heapwright::deferred_options{.entries = 8, .has_background_thread = true});
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    if (queue->has_background_thread()) _exit(2);
    for (int i = 0; i < 20; ++i) queue->defer(new Noted(i));
    queue.reset();
    _exit(Noted::live == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

struct OwnsAQueue {
  deferred_free inner;
  explicit OwnsAQueue(int depth) {
    for (int i = 0; i < 3; ++i) inner.defer(new Noted(i));
    if (depth > 0) inner.defer(new OwnsAQueue(depth - 1));
  }
};
TEST(DeferredFree, FreesWhatAQueueInADeferredObjectHolds) {
  deferred_free outer;
  outer.defer(new OwnsAQueue(3));
  EXPECT_EQ(Noted::live, 12);
  outer.drain();
  EXPECT_EQ(Noted::live, 0);
}

// The background thread frees an object that takes as long as the owner's
// budgeted drain does: the drain must not wait for it.
TEST(DeferredFree, ABudgetHoldsBehindTheBackgroundThread) {
  static std::atomic<bool> is_freeing{false};
  static std::atomic<bool> is_drained{false};
  static std::atomic<bool> was_waited_for{false};
  struct Slow {
    ~Slow() {
      is_freeing = true;
      for (int i = 0; i < 5000 && !is_drained; ++i) std::this_thread::sleep_for(1ms);
      was_waited_for = !is_drained;
    }
  };
  is_freeing = is_drained = was_waited_for = false;  // also where tests are repeated
  deferred_free queue({.has_background_thread = true});
  queue.defer(new Slow);
  while (!is_freeing) std::this_thread::sleep_for(1ms);
  queue.defer(new Noted(1));
  EXPECT_EQ(queue.drain(2ms), 0U);
  is_drained = true;
  queue.barrier();
  EXPECT_FALSE(was_waited_for);
  EXPECT_EQ(Noted::live, 0);
}

// Between two objects the background thread lets others at the queue.
TEST(DeferredFree, TheBackgroundThreadLetsTheOwnerDrain) {
  static std::atomic<std::thread::id> owner;
  static std::atomic<int> freed_by_owner{0};
  static std::atomic<bool> is_over{false};
  owner = std::this_thread::get_id();
  struct Slowish {
    ~Slowish() {
      freed_by_owner += std::this_thread::get_id() == owner.load();
      if (!is_over) std::this_thread::sleep_for(1ms);
    }
  };
  deferred_free queue({.has_background_thread = true});
  for (int i = 0; i < 4000; ++i) queue.defer(new Slowish);
  std::this_thread::sleep_for(5ms);
  for (int i = 0; i < 10 && freed_by_owner == 0; ++i) queue.drain(20ms);
  EXPECT_GT(freed_by_owner, 0);
  is_over = true;
}

TEST(DeferredFree, AThrowingDestroyRunsOnce) {
  static int runs = 0;
  runs = 0;
  const auto throws = [](void*) {
    ++runs;
    throw std::runtime_error("from destroy");
  };
  deferred_free queue({.entries = 4});
  int object = 0;
  queue.defer(&object, throws);
  queue.defer(new Noted(1));
  EXPECT_THROW(queue.drain(), std::runtime_error);
  EXPECT_EQ(queue.drain(), 1U);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(Noted::live, 0);
  queue.defer(&object, throws);  // and when it is freed to make room
  for (int i = 0; i < 3; ++i) queue.defer(new Noted(i));
  EXPECT_THROW(queue.defer(new Noted(4)), std::runtime_error);
  queue.drain();
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(Noted::live, 0) << "what was being deferred is not lost";
}

struct Counts {
  ~Counts() { ++ended; }
  static inline int ended = 0;
};

TEST(DeferredFree, FreesEachElementOfAnArray) {
  deferred_free queue;
  Counts::ended = 0;
  queue.defer(std::make_unique<Counts[]>(3));
  queue.defer(std::make_unique<const int[]>(1000));
  queue.defer(std::unique_ptr<int[]>());
  EXPECT_EQ(Counts::ended, 0);
  EXPECT_EQ(queue.statistics().pending, 2U);
  queue.drain();
  EXPECT_EQ(Counts::ended, 3);
}

TEST(DeferredFree, ASizeThatIsNoNumberCountsAsDear) {
  struct Image {
    std::pair<int, int> size() const { return {640, 480}; }
  };
  deferred_free queue;
  queue.defer(std::make_unique<Image>());
  EXPECT_EQ(queue.statistics().pending, 1U);
}

}  // namespace
