// SPDX-License-Identifier: MIT
// The counters of heap_budget: the hook reports each heap call here. Nothing in
// this file allocates or throws; a thread's state is plain data, valid before and
// after every thread-local object.
#ifndef HEAPWRIGHT_DETAIL_HEAP_EVENTS_HPP
#define HEAPWRIGHT_DETAIL_HEAP_EVENTS_HPP

#include <execinfo.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace heapwright {

struct heap_limits {
  const char* name = nullptr;              // a literal: reports the scope to a recorder, for heapwright gate
  std::uint64_t allocations = UINT64_MAX;  // at most
  std::uint64_t bytes = UINT64_MAX;        // requested, in total
  std::uint64_t peak_bytes = UINT64_MAX;   // above the start, at any moment
  std::int64_t live_bytes = INT64_MAX;     // above the start, at the end
  std::uint64_t at_least_allocations = 0;  // a positive control
};

struct heap_usage {
  std::uint64_t allocations = 0;
  std::uint64_t releases = 0;
  std::uint64_t bytes = 0;
  std::int64_t live_bytes = 0;  // live and peak count usable sizes, as rounded by the heap
  std::int64_t peak_bytes = 0;
};

// Shared by checked and unchecked files: there is one heap.
namespace hook {

struct heap_offender {
  static constexpr int most_frames = 24;
  std::uint64_t bytes = 0;
  int frame_count = 0;
  void* frames[most_frames] = {};
};

inline bool exceeds(const heap_usage& usage, const heap_limits& limits) noexcept {
  return usage.allocations > limits.allocations || usage.bytes > limits.bytes ||
         usage.peak_bytes > static_cast<std::int64_t>(std::min<std::uint64_t>(limits.peak_bytes, INT64_MAX));
}

// One open budget.
struct heap_scope {
  static constexpr std::size_t most_offenders = 3;
  heap_limits limits;
  heap_usage usage;
  heap_scope* outer = nullptr;
  std::uint64_t number = 0;  // sequence number of a process budget
  std::size_t offender_count = 0;
  heap_offender offenders[most_offenders] = {};
};

struct heap_thread {
  std::uint64_t allocations = 0;
  std::uint64_t releases = 0;
  heap_scope* scopes = nullptr;             // innermost first
  std::uint64_t process_scopes_paused = 0;  // process budgets up to this number do not count
  std::uint64_t fail_every = 0;             // 0: no injected failures
  std::uint64_t fail_count = 0;
  bool is_busy = false;  // in the code below: do not count
};
inline constinit thread_local heap_thread heap_of_thread{};

// Budgets of the whole process, under a spin lock: critical sections are few and short.
inline constinit std::atomic<heap_scope*> process_scopes{nullptr};
inline constinit std::atomic<std::uint64_t> process_scopes_opened{0};
inline constinit std::atomic_flag process_scopes_lock = ATOMIC_FLAG_INIT;

struct process_lock {
  process_lock() noexcept {
    while (process_scopes_lock.test_and_set(std::memory_order_acquire)) {
    }
  }
  process_lock(const process_lock&) = delete;
  process_lock& operator=(const process_lock&) = delete;
  ~process_lock() { process_scopes_lock.clear(std::memory_order_release); }
};

// At a fork another thread may hold the lock, and that thread is not in the child. The
// forking thread does not count until the child frees it: fork handlers go uncounted.
inline void free_lock_in_children() noexcept {
  static const int registered =
      pthread_atfork([] { heap_of_thread.is_busy = true; }, [] { heap_of_thread.is_busy = false; },
                     [] {
                       process_scopes_lock.clear(std::memory_order_release);
                       heap_of_thread.is_busy = false;
                     });
  static_cast<void>(registered);
}

inline void count_allocation(heap_scope& scope, std::uint64_t bytes, std::int64_t block_bytes) noexcept {
  heap_usage& usage = scope.usage;
  ++usage.allocations;
  usage.bytes += bytes;
  usage.live_bytes += block_bytes;
  usage.peak_bytes = std::max(usage.peak_bytes, usage.live_bytes);
  if (!exceeds(usage, scope.limits) || scope.offender_count == heap_scope::most_offenders) return;
  heap_offender& offender = scope.offenders[scope.offender_count++];
  offender.bytes = bytes;
  offender.frame_count = backtrace(offender.frames, heap_offender::most_frames);
}

inline void count_release(heap_scope& scope, std::int64_t block_bytes) noexcept {
  ++scope.usage.releases;
  scope.usage.live_bytes -= block_bytes;
}

// Calls `visit` for all budgets that count this thread's calls.
template <class Visit>
void for_each_heap_scope(heap_thread& own, Visit visit) noexcept {
  own.is_busy = true;  // unwinding may allocate
  for (heap_scope* scope = own.scopes; scope != nullptr; scope = scope->outer) visit(*scope);
  if (process_scopes_opened.load(std::memory_order_relaxed) > own.process_scopes_paused &&
      process_scopes.load(std::memory_order_relaxed) != nullptr) {
    const process_lock lock;
    for (heap_scope* scope = process_scopes.load(); scope != nullptr; scope = scope->outer) {
      if (scope->number > own.process_scopes_paused) visit(*scope);
    }
  }
  own.is_busy = false;
}

inline bool has_heap_scopes(const heap_thread& own) noexcept {
  return own.scopes != nullptr || process_scopes.load(std::memory_order_relaxed) != nullptr;
}

inline void heap_allocated(std::size_t bytes, std::size_t block_bytes) noexcept {
  heap_thread& own = heap_of_thread;
  if (own.is_busy) return;
  ++own.allocations;
  if (!has_heap_scopes(own)) return;
  for_each_heap_scope(own, [&](heap_scope& scope) {
    count_allocation(scope, bytes, static_cast<std::int64_t>(block_bytes));
  });
}

inline void heap_released(std::size_t block_bytes) noexcept {
  heap_thread& own = heap_of_thread;
  if (own.is_busy) return;
  ++own.releases;
  if (!has_heap_scopes(own)) return;
  for_each_heap_scope(
      own, [&](heap_scope& scope) { count_release(scope, static_cast<std::int64_t>(block_bytes)); });
}

// Whether the current call must fail.
inline bool heap_must_fail() noexcept {
  heap_thread& own = heap_of_thread;
  if (own.fail_every == 0 || own.is_busy) return false;
  return ++own.fail_count % own.fail_every == 0;
}

}  // namespace hook
}  // namespace heapwright
#endif
