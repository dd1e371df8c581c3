// SPDX-License-Identifier: MIT
// How much of a timed call its thread spent off the processor, and whether it waited for a lock or for a
// processor. Reading a thread's CPU time takes a system call, so it is read only after slow calls, and before
// a call if the last reading is old. Its switches take another one, made only if it was off the processor
// since they were last read: otherwise they are the same. Threads: a Look belongs to one thread.
#pragma once

#include <sys/resource.h>
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
// Threads that call all the time look after a call, and never before one: two threads that use a lock in
// turns would get out of step by the look, and collide in just the calls that are timed.
inline constexpr std::uint64_t look_after_call_ns = 40'000;
// A call with less CPU time that was off the processor only waited: asleep and awake again takes up to that.
inline constexpr std::uint64_t worked_from_ns = 10'000;

// How often a thread left the processor, by the kernel's count, modulo 2^32.
struct Switches {
  std::uint32_t voluntary;    // it waited for something
  std::uint32_t involuntary;  // it was preempted
  std::uint32_t disk_faults;  // it waited for pages from a disk; each is a voluntary one too
};

// Of a call. A thread that calls all the time finds its look old if it was preempted. Just after it has
// looked again it collides more than with its other calls: these tell whether there are collisions, not how
// many.
enum class Timing : std::uint32_t { rare, soon_after_another, just_after_look };

struct Look {
  std::uint64_t at_ns;            // 0: never
  std::uint64_t off_ns;           // time off the processor up to then, plus a constant unknown amount
  std::uint64_t switches_off_ns;  // off_ns when the switches were read
  Switches switches;
  Timing timing;
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

// Unchanged if unavailable. Keeps errno.
inline void read_switches(Switches& switches) noexcept {
  rusage usage{};
  if (platform::raw_syscall(SYS_getrusage, RUSAGE_THREAD, platform::raw_argument(&usage)) != 0) return;
  switches = {.voluntary = static_cast<std::uint32_t>(usage.ru_nvcsw),
              .involuntary = static_cast<std::uint32_t>(usage.ru_nivcsw),
              .disk_faults = static_cast<std::uint32_t>(usage.ru_majflt)};
}

// Whether the thread can have been switched away meanwhile: that takes longer.
inline bool has_waited(std::uint64_t earlier_off_ns, std::uint64_t off_ns) noexcept {
  return static_cast<std::int64_t>(off_ns - earlier_off_ns) >= static_cast<std::int64_t>(least_wait_ns);
}

// Reads a thread's CPU time, and its switches if it was off the processor since.
inline void look_again(Look& look, std::uint64_t at_ns) noexcept {
  look.at_ns = at_ns;
  look.off_ns = at_ns - processor_ns();
  if (!has_waited(look.switches_off_ns, look.off_ns)) return;
  look.switches_off_ns = look.off_ns;
  read_switches(look.switches);
}

// The begin time of a timed call, from now_ns(). A thread that is preempted just here reads again.
template <typename Clock>
std::uint64_t begin_timing(Look& look, Clock now_ns) noexcept {
  constexpr int most_looks = 3;
  std::uint64_t begin_ns = now_ns();
  if (begin_ns - look.at_ns <= look_again_after_ns) {
    look.timing = Timing::soon_after_another;
    return begin_ns;
  }
  const bool calls_always = look.timing == Timing::soon_after_another;
  look.timing = calls_always ? Timing::just_after_look : Timing::rare;
  for (int looks = 0; begin_ns - look.at_ns > look_again_after_ns && looks < most_looks; ++looks) {
    look_again(look, begin_ns);
    begin_ns = now_ns();
  }
  return begin_ns;
}

enum class Waited { nothing, lock, preempted, kernel };

struct Took {
  std::uint64_t ns;
  std::uint64_t waited_ns;  // of the total
  Waited waited;            // mainly
  bool is_typical = true;
};

// A wait for a lock, or a lock's holder that was preempted meanwhile: voluntary. Of memory that was swapped
// out, or of a mapped file: the kernel's.
inline Waited kind_of_wait(const Switches& before, const Switches& after) noexcept {
  if (after.disk_faults != before.disk_faults) return Waited::kernel;
  if (after.voluntary != before.voluntary) return Waited::lock;
  return after.involuntary != before.involuntary ? Waited::preempted : Waited::kernel;
}

inline Took end_timing(Look& look, std::uint64_t begin_ns, std::uint64_t end_ns) noexcept {
  const std::uint64_t took_ns = end_ns - begin_ns;
  const bool is_typical = look.timing != Timing::just_after_look;
  if (took_ns < may_have_waited_from_ns) {
    if (end_ns - look.at_ns > look_after_call_ns) look_again(look, end_ns);
    return {took_ns, 0, Waited::nothing, is_typical};
  }
  const std::uint64_t on_ns = processor_ns();
  if (on_ns == 0) return {took_ns, 0, Waited::nothing, is_typical};
  const Look before = look;
  look.at_ns = end_ns;
  look.off_ns = end_ns - on_ns;
  if (!has_waited(before.off_ns, look.off_ns)) return {took_ns, 0, Waited::nothing, is_typical};
  look.switches_off_ns = look.off_ns;
  read_switches(look.switches);
  const std::uint64_t waited_ns = look.off_ns - before.off_ns;
  Waited waited = kind_of_wait(before.switches, look.switches);
  // It may have waited between the last look and the call instead, if that is as long. Then the call was slow
  // for another reason: it worked.
  const bool may_be_earlier = waited_ns <= begin_ns - before.at_ns;
  const bool worked = waited_ns > took_ns || took_ns - waited_ns >= worked_from_ns;
  if (waited == Waited::lock && may_be_earlier && worked) waited = Waited::kernel;
  return {took_ns, std::min(took_ns, waited_ns), waited, is_typical};
}

}  // namespace heapwright::counters
