// SPDX-License-Identifier: MIT
// System calls without libc: no errno, no cancellation point, nothing another
// preloaded library could have interposed. Results below 0 are -errno.
#pragma once

#include <sys/syscall.h>

namespace heapwright::platform {

inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                        long f = 0) noexcept {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

template <typename T>
inline long raw_argument(T* pointer) noexcept {
  return reinterpret_cast<long>(pointer);
}

}  // namespace heapwright::platform
