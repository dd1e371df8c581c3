// SPDX-License-Identifier: MIT
// System calls without libc: no errno, no cancellation point, nothing that another preloaded library could
// interpose. Results below 0 are -errno. Under a sanitizer it uses libc's, with the same results: plain C++.
#pragma once

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

#include "platform/sanitized.hpp"

namespace heapwright::platform {

inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                        long f = 0) noexcept {
#if HEAPWRIGHT_SANITIZED
  const int before = errno;
  const long answer = ::syscall(number, a, b, c, d, e, f);
  const long result = answer == -1 ? -long{errno} : answer;
  errno = before;
  return result;
#elif defined(__aarch64__)
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
#else
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
#endif
}

template <typename T>
inline long raw_argument(T* pointer) noexcept {
  return reinterpret_cast<long>(pointer);
}

// As readlink(2), which aarch64 has no call of.
inline long read_link(const char* link, char* to, std::size_t bytes) noexcept {
#if defined(SYS_readlink)
  return raw_syscall(SYS_readlink, raw_argument(link), raw_argument(to), static_cast<long>(bytes));
#else
  constexpr long from_current_folder = -100;  // AT_FDCWD
  return raw_syscall(SYS_readlinkat, from_current_folder, raw_argument(link), raw_argument(to),
                     static_cast<long>(bytes));
#endif
}

}  // namespace heapwright::platform
