// SPDX-License-Identifier: MIT
#include "heap/process.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "heap/allocate.hpp"
#include "heap/caches.hpp"
#include "heap/clock.hpp"
#include "heap/counting.hpp"
#include "heap/dropped_blocks.hpp"
#include "heap/growth.hpp"
#include "heap/hardened.hpp"
#include "heap/heap_object.hpp"
#include "heap/lock.hpp"
#include "heap/maintenance.hpp"
#include "heap/page_source.hpp"
#include "heap/partial_pool.hpp"
#include "heap/publish.hpp"
#include "heap/settings.hpp"

namespace heapwright::heap {

namespace {

constinit Lock start_lock{};
std::atomic<bool> is_started{false};

// Every lock, outer ones first, so that the child finds nothing half done.
void before_fork() {
  lock_maintenance();
  lock_quarantine();
  lock_heaps();
  lock_caches();
  lock_pool();
  lock_dropped_maps();
  lock_page_source();
}

void unlock_all() {
  unlock_page_source();
  unlock_dropped_maps();
  unlock_pool();
  unlock_caches();
  unlock_heaps();
  unlock_quarantine();
  unlock_maintenance();
}

void in_child() {
  unlock_all();
  forget_other_threads();
  forget_waiting_calls();
  forget_maintenance_thread();
  reopen_counters();
}

// Early, so that handlers of libraries that allocate in theirs are run inside of these.
[[gnu::constructor(101)]] void start() {
  pthread_atfork(before_fork, unlock_all, in_child);
  if (!initialize_process()) return;
  // Here, and not in a call that the program may be timing: the first block's
  // way touches most pages of code and tables.
  release(allocate(1));
  if (settings.starts_thread_early || settings.publishes_counters) start_maintenance();
}

[[gnu::destructor]] void end_process() { close_counters(); }

}  // namespace

[[gnu::hot]] bool initialize_process() noexcept {
  if (is_started.load(std::memory_order_acquire)) return true;
  const LockGuard locked(start_lock, counters_page->page.page_source_lock);
  if (is_started.load(std::memory_order_relaxed)) return true;
  find_clock();
  if (!place_region()) return false;
  read_settings();
  open_counters();
  is_started.store(true, std::memory_order_release);
  return true;
}

}  // namespace heapwright::heap
