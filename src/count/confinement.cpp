// SPDX-License-Identifier: MIT
// prctl, by which a program takes system calls from itself, or says first that it will (no_new_privs, as
// libseccomp does).
#include "count/confinement.hpp"

#include <sys/prctl.h>

#include <cerrno>
#include <cstdarg>

#include "count/thread.hpp"
#include "platform/raw_syscall.hpp"

namespace heapwright::count {

constinit std::atomic<bool> has_confined_itself{false};

namespace {

// A vfork child has its parent's memory, and its filter is not the parent's.
bool is_own_process() noexcept {
  return wiped_on_fork.mode.load(std::memory_order_acquire) != Mode::active ||
         static_cast<std::uint32_t>(platform::raw_syscall(SYS_getpid)) == page->calls.head.process;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int prctl(int option, ...) noexcept {
  std::va_list list;
  va_start(list, option);
  // Read even if the caller did not pass them, as libc does.
  long values[4];
  for (long& value : values) value = va_arg(list, long);
  va_end(list);
  const bool confines = option == PR_SET_SECCOMP || (option == PR_SET_NO_NEW_PRIVS && values[0] != 0);
  if (confines && is_own_process()) has_confined_itself.store(true, std::memory_order_relaxed);
  const long result = platform::raw_syscall(SYS_prctl, option, values[0], values[1], values[2], values[3]);
  if (result >= 0 || result < -4095) return static_cast<int>(result);
  errno = static_cast<int>(-result);
  return -1;
}

}  // namespace heapwright::count
