// SPDX-License-Identifier: MIT
// A lock for a few instructions: spins briefly, then sleeps in the kernel. Only
// an acquisition that has to wait is counted. Never held across a system call.
#pragma once

#include <x86intrin.h>

#include <atomic>
#include <cstdint>

#include "counters/layout.hpp"
#include "heap/clock.hpp"
#include "platform/futex.hpp"

namespace heapwright::heap {

class Lock {
 public:
  void lock(counters::LockCounters& counted) noexcept {
    std::uint32_t expected = open;
    if (state_.compare_exchange_strong(expected, taken, std::memory_order_acquire)) [[likely]]
      return;
    wait(counted);
  }
  void unlock() noexcept {
    if (state_.exchange(open, std::memory_order_release) == awaited) [[unlikely]]
      platform::futex_wake(state_);
  }
  // In the child of a fork: nobody else is there.
  void reset() noexcept { state_.store(open, std::memory_order_relaxed); }
  bool is_open() const noexcept { return state_.load(std::memory_order_relaxed) == open; }

 private:
  static constexpr std::uint32_t open = 0;
  static constexpr std::uint32_t taken = 1;
  static constexpr std::uint32_t awaited = 2;

  [[gnu::noinline, gnu::cold]] void wait(counters::LockCounters& counted) noexcept {
    const std::uint64_t begin_ns = monotonic_ns();
    if (!spin()) {
      while (state_.exchange(awaited, std::memory_order_acquire) != open) {
        platform::futex_wait(state_, awaited, 1'000'000'000);
      }
    }
    const std::uint64_t waited_ns = monotonic_ns() - begin_ns;
    counters::add(counted.contended, 1);
    counters::add(counted.wait_ns, waited_ns);
    counters::raise(counted.max_wait_ns, waited_ns);
  }
  bool spin() noexcept {
    for (int i = 0; i < 200; ++i) {
      std::uint32_t expected = open;
      if (state_.load(std::memory_order_relaxed) == open &&
          state_.compare_exchange_strong(expected, taken, std::memory_order_acquire)) {
        return true;
      }
      _mm_pause();
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
