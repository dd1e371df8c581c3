// SPDX-License-Identifier: MIT
// Sleep and wake on a word in memory shared between processes.
#pragma once

#include <linux/futex.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "platform/raw_syscall.hpp"

namespace heapwright::platform {

// Sleeps while `word` holds `expected`, at most `timeout_ns`. May return early.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                       std::uint64_t timeout_ns) noexcept {
  timespec timeout;
  timeout.tv_sec = static_cast<time_t>(timeout_ns / 1'000'000'000ULL);
  timeout.tv_nsec = static_cast<long>(timeout_ns % 1'000'000'000ULL);
  raw_syscall(SYS_futex, raw_argument(&word), FUTEX_WAIT, static_cast<long>(expected),
              raw_argument(&timeout));
}

inline void futex_wake(std::atomic<std::uint32_t>& word) noexcept {
  raw_syscall(SYS_futex, raw_argument(&word), FUTEX_WAKE, 1);
}

}  // namespace heapwright::platform
