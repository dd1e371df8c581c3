// SPDX-License-Identifier: MIT
#include "heap/front/forks.hpp"

#include <pthread.h>

#include <cstdint>

#include "heap/base/counting.hpp"
#include "heap/base/lock.hpp"
#include "heap/base/own_thread.hpp"
#include "heap/pages/page_source.hpp"
#include "heap/service/maintenance.hpp"
#include "heap/service/publish.hpp"
#include "heap/slabs/dropped_blocks.hpp"
#include "heap/slabs/mixed_slab.hpp"
#include "heap/slabs/partial_pool.hpp"
#include "heap/threads/caches.hpp"
#include "heap/threads/heap_object.hpp"

namespace heapwright::heap {

namespace {

// Outer locks first.
constexpr Lock& (*outer_locks[])() noexcept = {maintenance_lock, heaps_lock};
constexpr Lock& (*inner_locks[])() noexcept = {own_lists_lock, caches_lock,       pool_lock,
                                               mixed_lock,     dropped_maps_lock, page_source_lock};

// The locks of the private heaps, if their list can be walked.
void for_each_heaps_lock(void (*visit)(Lock&, std::uint64_t), std::uint64_t argument = 0) noexcept {
  if (heaps_lock().is_interrupted() || heaps_lock().is_held_for_fork()) for_each_heap_lock(visit, argument);
}

// Whether a signal handler that forks has interrupted a heap call of its own thread.
bool has_interrupted_call() noexcept {
  for (const auto lock : outer_locks) {
    if (lock().is_interrupted()) return true;
  }
  for (const auto lock : inner_locks) {
    if (lock().is_interrupted()) return true;
  }
  return false;
}

// Takes all locks, so that the child finds no half-done work. A thread that holds one
// for longer than a few instructions or one madvise waits for a lock that this thread
// has interrupted; the child of such a fork may call only what a signal handler may.
void before_fork() {
  constexpr std::uint64_t patient_ns = 2'000'000'000;
  constexpr std::uint64_t impatient_ns = 5'000'000;
  const std::uint64_t most_ns = has_interrupted_call() ? impatient_ns : patient_ns;
  for (const auto lock : outer_locks) lock().lock_for_fork(most_ns);
  for_each_heaps_lock([](Lock& lock, std::uint64_t ns) { lock.lock_for_fork(ns); }, most_ns);
  for (const auto lock : inner_locks) lock().lock_for_fork(most_ns);
}

void in_parent() {
  for (const auto lock : inner_locks) lock().unlock_after_fork();
  for_each_heaps_lock([](Lock& lock, std::uint64_t) { lock.unlock_after_fork(); });
  for (const auto lock : outer_locks) lock().unlock_after_fork();
}

void in_child() {
  reopen_counters();  // first: until then what is counted goes to the parent's page
  for (const auto lock : inner_locks) lock().reset_in_child();
  for_each_heaps_lock([](Lock& lock, std::uint64_t) { lock.reset_in_child(); });
  for (const auto lock : outer_locks) lock().reset_in_child();
  forget_other_threads();
  forget_waiting_calls();
  forget_maintenance_thread();
}

}  // namespace

void handle_forks() noexcept { pthread_atfork(before_fork, in_parent, in_child); }

}  // namespace heapwright::heap
