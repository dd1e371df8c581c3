// SPDX-License-Identifier: MIT
// How much of a timed call its thread spent off the processor, waiting for a processor, a lock or the kernel.
// Reading a thread's CPU time takes a system call, so it is read only after slow calls, and before a call if
// the last reading is old. Threads: a Look belongs to one thread.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>

#include "platform/raw_syscall.hpp"

namespace heapwright::counters {

// A shorter call is assumed not to have left the processor: switching away and back takes about as long.
inline constexpr std::uint64_t may_have_waited_from_ns = 5'000;
// A shorter wait may be just the difference of two clocks.
inline constexpr std::uint64_t least_wait_ns = 1'000;
// How long a reading is valid: this much waiting before a slow call may be attributed to the call.
inline constexpr std::uint64_t look_again_after_ns = 50'000;

struct Look {
  std::uint64_t at_ns;   // 0: never
  std::uint64_t off_ns;  // time off the processor up to then, plus a constant unknown amount
};

// The minimum difference of two clock readings.
template <typename Clock>
std::uint64_t clock_cost_ns(Clock now_ns) noexcept {
  std::uint64_t least = UINT64_MAX;
  std::uint64_t before = now_ns();
  for (int round = 0; round < 16; ++round) {
    const std::uint64_t now = now_ns();
    least = std::min(least, now - before);
    before = now;
  }
  return least;
}

// 0: unavailable. Keeps errno.
inline std::uint64_t processor_ns() noexcept {
  timespec time{};
  if (platform::raw_syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, platform::raw_argument(&time)) != 0) {
    return 0;
  }
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000ULL +
         static_cast<std::uint64_t>(time.tv_nsec);
}

// The begin time of a timed call, from now_ns(). A thread that is preempted just here reads again.
template <typename Clock>
std::uint64_t begin_timing(Look& look, Clock now_ns) noexcept {
  constexpr int most_looks = 3;
  std::uint64_t begin_ns = now_ns();
  for (int looks = 0; begin_ns - look.at_ns > look_again_after_ns && looks < most_looks; ++looks) {
    look = {begin_ns, begin_ns - processor_ns()};
    begin_ns = now_ns();
  }
  return begin_ns;
}

struct Took {
  std::uint64_t ns;
  std::uint64_t waited_ns;  // of the total
};

inline Took end_timing(Look& look, std::uint64_t begin_ns, std::uint64_t end_ns) noexcept {
  const std::uint64_t took_ns = end_ns - begin_ns;
  if (took_ns < may_have_waited_from_ns) return {took_ns, 0};
  const std::uint64_t on_ns = processor_ns();
  if (on_ns == 0) return {took_ns, 0};
  const Look before = look;
  look = {end_ns, end_ns - on_ns};
  const auto waited_ns = static_cast<std::int64_t>(look.off_ns - before.off_ns);
  if (waited_ns < static_cast<std::int64_t>(least_wait_ns)) return {took_ns, 0};
  return {took_ns, std::min(took_ns, static_cast<std::uint64_t>(waited_ns))};
}

}  // namespace heapwright::counters
