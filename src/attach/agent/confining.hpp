// SPDX-License-Identifier: MIT
// Calls by which a process takes system calls, or the time stamp counter, from itself: the kernel would then
// kill it for what an agent asks.
#pragma once

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

namespace heapwright::attach::agent {

struct Confining {
  bool takes_calls = false;
  bool takes_clock = false;  // from the calling thread, and from threads and children that it makes

  explicit operator bool() const noexcept { return takes_calls || takes_clock; }
};

inline Confining confining_by_prctl(long option, long argument) noexcept {
  const bool is_filter = option == PR_SET_SECCOMP;
  const bool is_strict = is_filter && argument == SECCOMP_MODE_STRICT;
  return {is_filter, is_strict || (option == PR_SET_TSC && argument == PR_TSC_SIGSEGV)};
}

inline Confining confining_by_syscall(long number, long a, long b) noexcept {
  if (number == SYS_prctl) return confining_by_prctl(a, b);
  if (number == SYS_seccomp) return {true, a == SECCOMP_SET_MODE_STRICT};
  return {};
}

}  // namespace heapwright::attach::agent
