// SPDX-License-Identifier: MIT
// A thread without libc.
#pragma once

#include <atomic>
#include <cstdint>

#include "platform/raw_syscall.hpp"

namespace heapwright::platform {

// Starts `entry`, which never returns, on an empty stack. `id` holds the thread's id from before it starts
// (with CLONE_PARENT_SETTID) until the kernel clears it after its end (CLONE_CHILD_CLEARTID). thread_pointer:
// with CLONE_SETTLS. Returns the id; below 0: -errno.
inline long new_thread(long flags, void* stack_top, std::atomic<std::uint32_t>& id, void* thread_pointer,
                       void (*entry)()) noexcept {
#if defined(__aarch64__)
  register long x8 asm("x8") = SYS_clone;
  register long x0 asm("x0") = flags;
  register long x1 asm("x1") = raw_argument(stack_top);
  register long x2 asm("x2") = raw_argument(&id);
  register long x3 asm("x3") = raw_argument(thread_pointer);
  register long x4 asm("x4") = raw_argument(&id);
  register void (*x9)() asm("x9") = entry;
  asm volatile(
      "svc #0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x29, xzr\n\t"
      "mov x30, xzr\n\t"
      "blr x9\n\t"
      "brk #1\n"
      "1:"
      : "+r"(x0)
      : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x9)
      : "memory");
  return x0;
#else
  long result = SYS_clone;
  register long r10 asm("r10") = raw_argument(&id);
  register long r8 asm("r8") = raw_argument(thread_pointer);
  register void (*r9)() asm("r9") = entry;
  asm volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xor %%ebp, %%ebp\n\t"
      "and $-16, %%rsp\n\t"
      "call *%%r9\n\t"
      "ud2\n"
      "1:"
      : "+a"(result)
      : "D"(flags), "S"(stack_top), "d"(&id), "r"(r10), "r"(r8), "r"(r9)
      : "rcx", "r11", "memory");
  return result;
#endif
}

}  // namespace heapwright::platform
