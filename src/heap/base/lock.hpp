// SPDX-License-Identifier: MIT
// A lock for a few instructions: spins briefly, then sleeps in the kernel. Only
// acquisitions that have to wait are counted. Never held across a system call.
//
// It knows its holder: a signal handler that forks may have interrupted the holder
// on its own thread, and would wait for itself forever.
#pragma once

#include <atomic>
#include <cstdint>

#include "counters/heap_section.hpp"
#include "heap/base/clock.hpp"
#include "platform/futex.hpp"
#include "platform/pause.hpp"

namespace heapwright::heap {

class Lock {
 public:
  void lock(counters::LockCounters& counted) noexcept {
    if (!try_lock(this_thread())) [[unlikely]] {
      wait(counted);
    }
  }
  bool try_lock() noexcept { return try_lock(this_thread()); }
  void unlock() noexcept {
    if ((state_.exchange(open, std::memory_order_release) & awaited) != 0) [[unlikely]] {
      platform::futex_wake(state_);
    }
  }

  // For a holder that locks again at once: lets a sleeping waiter have it first.
  void unlock_for_others() noexcept {
    if ((state_.exchange(open, std::memory_order_release) & awaited) == 0) return;
    platform::futex_wake(state_);
    platform::futex_wait(state_, open, 1'000'000);
  }

  // For locks that others only try: avoids the locked instruction, which waits for all
  // earlier stores.
  void unlock_unawaited() noexcept { state_.store(open, std::memory_order_release); }

  bool is_open() const noexcept { return state_.load(std::memory_order_relaxed) == open; }
  // Whether an interrupted call of this thread holds it.
  bool is_interrupted() const noexcept { return holder() == this_thread(); }
  // Before a fork. Waits at most `most_ns`, then forks without the lock: its holder may be
  // waiting for a lock that the caller has interrupted.
  void lock_for_fork(std::uint64_t most_ns) noexcept {
    if (is_interrupted()) return;
    const std::uint64_t end_ns = monotonic_ns() + most_ns;
    while (!try_lock(this_thread() | for_fork)) {
      if (monotonic_ns() >= end_ns) return;
      sleep(1'000'000);
    }
  }
  bool is_held_for_fork() const noexcept { return holder() == (this_thread() | for_fork); }
  // After the fork, in the parent.
  void unlock_after_fork() noexcept {
    if (is_held_for_fork()) unlock();
  }
  // After the fork, in the child, which has no other thread: keeps locks of interrupted calls.
  void reset_in_child() noexcept {
    if (!is_interrupted()) state_.store(open, std::memory_order_relaxed);
  }

 private:
  // The holder is part of the state word, so that it is known as soon as the lock is
  // taken. Thread pointers are multiples of 64, and no two in a process are so far apart
  // that these bits are equal.
  static constexpr std::uint32_t open = 0;
  static constexpr std::uint32_t awaited = 1;
  static constexpr std::uint32_t for_fork = 2;
  static std::uint32_t this_thread() noexcept {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer()) >> 6 << 2);
  }
  std::uint32_t holder() const noexcept { return state_.load(std::memory_order_relaxed) & ~awaited; }

  bool try_lock(std::uint32_t by) noexcept {
    std::uint32_t expected = open;
    return state_.compare_exchange_strong(expected, by, std::memory_order_acquire);
  }
  // Sleeps until the lock may be open.
  void sleep(std::uint64_t most_ns) noexcept {
    std::uint32_t seen = state_.load(std::memory_order_relaxed);
    if (seen == open) return;
    if ((seen & awaited) == 0 &&
        !state_.compare_exchange_strong(seen, seen | awaited, std::memory_order_relaxed)) {
      return;
    }
    platform::futex_wait(state_, seen | awaited, most_ns);
  }

  [[gnu::noinline, gnu::cold]] void wait(counters::LockCounters& counted) noexcept {
    const std::uint64_t begin_ns = monotonic_ns();
    // After a sleep, others may still be asleep: lock as awaited.
    if (!spin()) {
      while (!try_lock(this_thread() | awaited)) sleep(1'000'000'000);
    }
    const std::uint64_t waited_ns = monotonic_ns() - begin_ns;
    counters::add(counted.contended, 1);
    counters::add(counted.wait_ns, waited_ns);
    counters::raise(counted.max_wait_ns, waited_ns);
  }
  bool spin() noexcept {
    for (int i = 0; i < 200; ++i) {
      if (is_open() && try_lock()) return true;
      platform::pause();
    }
    return false;
  }

  std::atomic<std::uint32_t> state_{open};
};

class LockGuard {
 public:
  LockGuard(Lock& lock, counters::LockCounters& counted) noexcept : lock_(lock) { lock_.lock(counted); }
  ~LockGuard() { lock_.unlock(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  Lock& lock_;
};

}  // namespace heapwright::heap
