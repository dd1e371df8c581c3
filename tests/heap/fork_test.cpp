// SPDX-License-Identifier: MIT
// A fork and the heap's locks.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "heap/base/counting.hpp"
#include "heap/base/lock.hpp"
#include "heap/base/settings.hpp"
#include "heap/pages/page_source.hpp"
#include "heap/service/maintenance.hpp"
#include "heap/service/process.hpp"
#include "heap/slabs/dropped_blocks.hpp"
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

INSTANTIATE_TEST_SUITE_P(
    Each, ForkLock,
    testing::Values(NamedLock{"maintenance", maintenance_lock}, NamedLock{"heaps", heaps_lock},
                    NamedLock{"caches", caches_lock}, NamedLock{"pool", pool_lock},
                    NamedLock{"dropped_maps", dropped_maps_lock}, NamedLock{"page_source", page_source_lock}),
    [](const testing::TestParamInfo<NamedLock>& which) { return std::string(which.param.name); });

}  // namespace
}  // namespace heapwright::heap
