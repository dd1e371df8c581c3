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

// Makes the call that installs a filter. A process is linked before: it could not be afterwards. The filter
// of a vfork child is not its parent's, whose memory it uses.
template <typename Call, typename IsInstalled>
auto confine(Call call, IsInstalled is_installed) noexcept {
  const bool is_linked = link_process();
  const bool is_own = is_linked && (is_confined() || static_cast<std::uint32_t>(own_process_id()) ==
                                                         process.block->process_id);
  if (!is_own) return call();
  if (!is_confined()) {
    grow_nodes(spare_node_level);
    map_spare_lanes();
  }
  const bool was_confined = is_confined();
  process.block->is_confined.fetch_add(1, std::memory_order_relaxed);
  const auto result = call();
  if (is_installed(result)) return result;
  process.was_confined.store(was_confined, std::memory_order_relaxed);
  process.block->is_confined.fetch_sub(1, std::memory_order_relaxed);
  return result;
}

// The strict mode also takes the time stamp counter from the thread, with every clock that is read without a
// system call: its calls can only be counted from then on.
void give_up_clock() noexcept { current_thread = &calling_libc; }

long confine_by_syscall(long number, long a, long b, long c, long d, long e, long f) noexcept {
  // Where threads cannot take over a filter (TSYNC), the answer is one of their ids, and there is none.
  const bool answers_file = number == SYS_seccomp && (b & SECCOMP_FILTER_FLAG_NEW_LISTENER) != 0;
  const long result = confine([=] { return next_syscall()(number, a, b, c, d, e, f); },
                              [=](long answer) { return answer == 0 || (answer > 0 && answers_file); });
  const bool is_strict = number == SYS_seccomp ? a == SECCOMP_SET_MODE_STRICT : b == SECCOMP_MODE_STRICT;
  if (result == 0 && is_strict) give_up_clock();
  return result;
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
  const int result =
      option == PR_SET_SECCOMP ? confine(call, [](int answer) { return answer == 0; }) : call();
  const bool takes_clock = (option == PR_SET_SECCOMP && values[0] == SECCOMP_MODE_STRICT) ||
                           (option == PR_SET_TSC && values[0] == PR_TSC_SIGSEGV);
  if (result == 0 && takes_clock) give_up_clock();
  return result;
}

// What `syscall` continues in.
extern "C" [[gnu::used, gnu::visibility("hidden")]] Syscall* heapwright_next_syscall(long number,
                                                                                     long first) noexcept {
  const bool confines =
      (number == SYS_seccomp && (first == SECCOMP_SET_MODE_STRICT || first == SECCOMP_SET_MODE_FILTER)) ||
      (number == SYS_prctl && static_cast<int>(first) == PR_SET_SECCOMP);
  return confines ? confine_by_syscall : next_syscall();
}

// Some calls return twice, or on another stack.
HEAPWRIGHT_TAIL_CALL("syscall", "heapwright_next_syscall", "");

}  // namespace heapwright::record
