// SPDX-License-Identifier: MIT
// A fork and the heap's locks.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "heap/base/counting.hpp"
#include "heap/base/lock.hpp"
#include "heap/base/settings.hpp"
#include "heap/front/allocate.hpp"
#include "heap/pages/free_runs.hpp"
#include "heap/pages/page_source.hpp"
#include "heap/service/maintenance.hpp"
#include "heap/service/process.hpp"
#include "heap/service/publish.hpp"
#include "heap/slabs/dropped_blocks.hpp"
#include "heap/slabs/mixed_slab.hpp"
#include "heap/slabs/partial_pool.hpp"
#include "heap/threads/caches.hpp"
#include "heap/threads/heap_object.hpp"

namespace heapwright::heap {
namespace {

struct NamedLock {
  const char* name;
  Lock& (*lock)() noexcept;
};

class ForkLock : public testing::TestWithParam<NamedLock> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(initialize_process());
    settings.has_maintenance_thread = false;
  }
  static counters::LockCounters& counted() { return counters_page->heap.heap_lock; }
};

void wait_for(pid_t child) {
  int status = -1;
  ASSERT_GT(child, 0);
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// What the lock guards may be half done: the child must not be made of that.
TEST_P(ForkLock, AForkWaitsUntilAnotherThreadHasLetItGo) {
  Lock& lock = GetParam().lock();
  lock.lock(counted());
  std::atomic<bool> is_made{false};
  std::thread other([&is_made] {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    is_made = true;
    wait_for(child);
  });
  // A fork that does not wait is made long before that; one that does, never is.
  for (int i = 0; i < 300 && !is_made; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_FALSE(is_made);
  lock.unlock();
  other.join();
  EXPECT_TRUE(lock.is_open());
}

// As from a signal handler that interrupted a call.
TEST_P(ForkLock, AForkOfItsHolderDoesNotWaitForItself) {
  Lock& lock = GetParam().lock();
  lock.lock(counted());
  const pid_t child = fork();
  if (child == 0) _exit(lock.is_interrupted() ? 0 : 1);
  EXPECT_TRUE(lock.is_interrupted());
  lock.unlock();
  wait_for(child);
  EXPECT_TRUE(lock.is_open());
}

// Another thread takes a slab out of the lists of the one that forks.
TEST(ForkLists, AForkWaitsForWhoChangesItsOwn) {
  ASSERT_TRUE(initialize_process());
  release(allocate(16));
  Lock& lock = own_lists_lock();
  std::atomic<int> step{0};
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    ASSERT_TRUE(lock.try_lock());
    step = 1;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    step = 2;
    lock.unlock();
    while (!is_over) std::this_thread::yield();  // a child's thread that ended is a leak to ThreadSanitizer
  });
  while (step == 0) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) _exit(step == 2 && lock.is_open() ? 0 : 1);
  is_over = true;
  wait_for(child);
  other.join();
}

// Who does piece after piece lets a fork go first: it waits for the piece that is being done. Without that
// it had to in 1 round of 10; a busy machine lets it wait for more in some.
TEST(ForkBound, AForkDoesNotWaitForManyPieces) {
  constexpr int rounds = 30;
  Lock lock;
  int short_waits = 0;
  for (int round = 0; round < rounds; ++round) {
    std::atomic<int> pieces{0};
    std::atomic<bool> is_over{false};
    std::thread worker([&] {
      while (!is_over) {
        lock.lock(counters_page->heap.heap_lock);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        ++pieces;
        lock.unlock_for_others();
      }
    });
    while (pieces == 0) std::this_thread::yield();
    const int before = pieces;
    lock.lock_for_fork(10'000'000'000);
    short_waits += pieces - before <= 1 ? 1 : 0;
    EXPECT_TRUE(lock.is_held_for_fork());
    is_over = true;
    lock.unlock_after_fork();
    worker.join();
  }
  EXPECT_GE(short_waits, rounds * 4 / 10);
}

// The same where a huge block is freed and others go back for it. Rounds count in which the fork is begun
// while most of that is still to be done.
TEST(ForkBound, AForkDoesNotWaitForAllThatAFreeGivesBack) {
  ASSERT_TRUE(initialize_process());
  constexpr std::size_t freed_bytes = std::size_t{48} << 20;
  constexpr std::size_t waiting_bytes = std::size_t{64} << 20;
  constexpr std::uint64_t least_pieces = 20;
  constexpr int rounds = 10;
  const std::atomic<std::uint64_t>& pieces = counters_page->heap.purging.calls;
  int counted_rounds = 0;
  int short_waits = 0;
  for (int round = 0; round < 100 * rounds && counted_rounds < rounds; ++round) {
    release(std::memset(allocate(waiting_bytes), 1, waiting_bytes));
    ASSERT_GT(dirty_bytes() + freed_bytes, most_kept_dirty_bytes());
    const std::uint64_t before = pieces;
    std::thread worker([] { make_room_for_dirty(freed_bytes); });
    while (pieces == before) std::this_thread::yield();
    const std::uint64_t begun = pieces;
    maintenance_lock().lock_for_fork(10'000'000'000);
    const std::uint64_t waited = pieces - begun;
    maintenance_lock().unlock_after_fork();
    worker.join();
    ASSERT_GE(pieces - before, least_pieces);
    EXPECT_TRUE(page_source_is_valid());
    if (begun - before > least_pieces / 2) continue;
    ++counted_rounds;
    short_waits += waited <= 1 ? 1 : 0;
  }
  EXPECT_GE(short_waits, rounds * 4 / 10);
}

// Who looked at the lists of a thread that ended is not in the child, so nobody would open them.
TEST(ForkLists, AnIdleCacheThatWasLookedAtIsLeftAlone) {
  ASSERT_TRUE(initialize_process());
  release(allocate(16));
  ThreadCache* idle = nullptr;
  std::thread([&idle] {
    release(allocate(16));
    idle = current_cache;
  }).join();
  ASSERT_TRUE(idle->lists.try_lock());
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    bool is_other = false;
    std::thread([&] {
      void* block = allocate(1000);
      is_other = block != nullptr && current_cache != idle;
    }).join();
    _exit(is_other ? 0 : 1);
  }
  idle->lists.unlock();
  wait_for(child);
}

std::uint64_t taken(std::uint32_t size_class) {
  publish_counters();
  return counters_page->classes[size_class].taken.load();
}

std::uint64_t attached() {
  constexpr auto index = static_cast<std::size_t>(counters::Reason::thread_attached);
  return counters_page->heap.summed_reasons[index].load();
}

// Levels aside: those are of the child's own memory.
TEST(ForkCounters, AChildBeginsAtZero) {
  ASSERT_TRUE(initialize_process());
  constexpr std::size_t size_bytes = 200;
  const std::uint32_t size_class = class_of(size_bytes);
  std::thread([] {
    for (int i = 0; i < 20000; ++i) (void)!allocate(size_bytes);  // the first ones are a coarser class's
  }).join();
  counters::add(counters_page->heap.pool_lock.contended, 3);
  ASSERT_GE(taken(size_class), 10000U);
  ASSERT_GE(attached(), 1U);
  const std::uint32_t generation = counters_page->head.generation;
  const pid_t child = fork();
  if (child == 0) {
    int wrong = 0;
    if (taken(size_class) != 0) wrong |= 1;
    if (attached() != 0) wrong |= 2;
    if (counters_page->heap.pool_lock.contended.load() != 0) wrong |= 4;
    if (counters_page->heap.committed_bytes.load() == 0) wrong |= 8;
    if (counters_page->head.generation != generation + 1) wrong |= 16;
    for (int i = 0; i < 5000; ++i) (void)!allocate(size_bytes);
    const std::uint64_t now = taken(size_class);
    if (now == 0 || now > 5000) wrong |= 32;
    _exit(wrong);
  }
  wait_for(child);
}

INSTANTIATE_TEST_SUITE_P(Each, ForkLock,
                         testing::Values(NamedLock{"maintenance", maintenance_lock},
                                         NamedLock{"heaps", heaps_lock}, NamedLock{"caches", caches_lock},
                                         NamedLock{"pool", pool_lock}, NamedLock{"mixed", mixed_lock},
                                         NamedLock{"dropped_maps", dropped_maps_lock},
                                         NamedLock{"page_source", page_source_lock}),
                         [](const testing::TestParamInfo<NamedLock>& which) {
                           return std::string(which.param.name);
                         });

}  // namespace
}  // namespace heapwright::heap
