// SPDX-License-Identifier: MIT
// prctl and syscall, the two functions of libc by which a program takes system calls from itself (libseccomp
// uses both). From just before, the recorder makes none: a filter may kill the process for one. A filter that
// is installed by other code is seen by the collector (collect/process_recording.cpp).
#include <dlfcn.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <cerrno>
#include <cstdarg>

#include "platform/raw_syscall.hpp"
#include "record/link.hpp"
#include "record/observe.hpp"
#include "record/start_notes.hpp"
#include "record/tail_call.hpp"

namespace heapwright::record {
namespace {

using platform::raw_syscall;
// Four MiB, for the stacks to come.
constexpr std::uint32_t spare_node_level = 2;
using Syscall = long(long, long, long, long, long, long, long);

// As libc's; used until the real functions are known.
long plain_syscall(long number, long a, long b, long c, long d, long e, long f) noexcept {
  const long result = raw_syscall(number, a, b, c, d, e, f);
  if (result >= 0 || result < -4095) return result;
  errno = static_cast<int>(-result);
  return -1;
}

Syscall* next_syscall() noexcept { return real.syscall != nullptr ? real.syscall : plain_syscall; }

// In a process that is not recorded: it still starts others, and then may not ask who it is.
template <typename Call, typename IsInstalled>
auto confine_unrecorded(Call call, IsInstalled is_installed) noexcept {
  if (!is_confined()) remember_ids();
  const auto result = call();
  if (is_installed(result)) process.was_confined.store(true, std::memory_order_relaxed);
  return result;
}

// Makes the call that installs a filter. A process is linked before: it could not be afterwards. The filter
// of a vfork child is not its parent's, whose memory it uses.
template <typename Call, typename IsInstalled>
auto confine(Call call, IsInstalled is_installed) noexcept {
  if (!link_process()) return confine_unrecorded(call, is_installed);
  const bool is_own =
      is_confined() || static_cast<std::uint32_t>(own_process_id()) == process.block->process_id;
  if (!is_own) return call();
  if (!is_confined()) {
    grow_nodes(spare_node_level);
    map_spare_lanes();
    map_starts(*process.control);
  }
  const bool was_confined = is_confined();
  process.block->is_confined.fetch_add(1, std::memory_order_relaxed);
  const auto result = call();
  if (is_installed(result)) return result;
  process.was_confined.store(was_confined, std::memory_order_relaxed);
  process.block->is_confined.fetch_sub(1, std::memory_order_relaxed);
  return result;
}

// The strict mode also takes the time stamp counter from the thread, and from those that it starts, with
// every clock that is read without a system call: their calls can only be counted from then on.
template <typename Call, typename IsDone>
auto give_up_clock(Call call, IsDone is_done) noexcept {
  link_process();  // which reads it
  const std::uint64_t before_ticks = rare_ticks(process.ticks_are_tsc);
  const auto result = call();
  if (!is_done(result)) return result;
  std::uint64_t none = 0;
  process.clock_taken_ticks.compare_exchange_strong(none, before_ticks, std::memory_order_relaxed);
  current_thread = &calling_libc;
  return result;
}

// Whether this call of prctl takes it.
bool takes_clock(long option, long value) noexcept {
  const auto number = static_cast<int>(option);
  return (number == PR_SET_SECCOMP && value == SECCOMP_MODE_STRICT) ||
         (number == PR_SET_TSC && value == PR_TSC_SIGSEGV);
}

constexpr auto is_zero = [](long answer) { return answer == 0; };

long confine_by_syscall(long number, long a, long b, long c, long d, long e, long f) noexcept {
  // Where threads cannot take over a filter (TSYNC), the answer is one of their ids, and there is none.
  const bool answers_file = number == SYS_seccomp && (b & SECCOMP_FILTER_FLAG_NEW_LISTENER) != 0;
  const bool is_strict = number == SYS_seccomp ? a == SECCOMP_SET_MODE_STRICT : takes_clock(a, b);
  const auto install = [=] {
    return confine([=] { return next_syscall()(number, a, b, c, d, e, f); },
                   [=](long answer) { return answer == 0 || (answer > 0 && answers_file); });
  };
  return is_strict ? give_up_clock(install, is_zero) : install();
}

// prctl(PR_SET_TSC).
long set_clock_by_syscall(long number, long a, long b, long c, long d, long e, long f) noexcept {
  const auto set = [=] { return next_syscall()(number, a, b, c, d, e, f); };
  return takes_clock(a, b) ? give_up_clock(set, is_zero) : set();
}

}  // namespace

HEAPWRIGHT_HOOK int prctl(int option, ...) noexcept {
  std::va_list list;
  va_start(list, option);
  // Read even if the caller did not pass them, as libc does.
  unsigned long values[4];
  for (unsigned long& value : values) value = va_arg(list, unsigned long);
  va_end(list);
  const auto call = [&] {
    if (real.prctl != nullptr) return real.prctl(option, values[0], values[1], values[2], values[3]);
    return static_cast<int>(plain_syscall(SYS_prctl, option, static_cast<long>(values[0]),
                                          static_cast<long>(values[1]), static_cast<long>(values[2]),
                                          static_cast<long>(values[3]), 0));
  };
  const auto set = [&] { return option == PR_SET_SECCOMP ? confine(call, is_zero) : call(); };
  return takes_clock(option, static_cast<long>(values[0])) ? give_up_clock(set, is_zero) : set();
}

// What `syscall` continues in.
extern "C" [[gnu::used, gnu::visibility("hidden")]] Syscall* heapwright_next_syscall(long number,
                                                                                     long first) noexcept {
  const bool confines =
      (number == SYS_seccomp && (first == SECCOMP_SET_MODE_STRICT || first == SECCOMP_SET_MODE_FILTER)) ||
      (number == SYS_prctl && static_cast<int>(first) == PR_SET_SECCOMP);
  if (confines) return confine_by_syscall;
  const bool sets_clock = number == SYS_prctl && static_cast<int>(first) == PR_SET_TSC;
  return sets_clock ? set_clock_by_syscall : next_syscall();
}

// Some calls return twice, or on another stack.
HEAPWRIGHT_TAIL_CALL("syscall", "heapwright_next_syscall", HEAPWRIGHT_NO_CHANGE);

}  // namespace heapwright::record
