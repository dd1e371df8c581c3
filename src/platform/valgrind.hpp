// SPDX-License-Identifier: MIT
// Whether this process runs in Valgrind's emulated processor, as its manual's "client request mechanism"
// defines it: rotations that change nothing, which Valgrind knows and answers.
#pragma once

#include <array>

namespace heapwright::platform {

// A few cycles; always false for other processors.
inline bool is_in_valgrind() noexcept {
  const std::array<unsigned long, 6> request{0x1001};  // "running on Valgrind"; its arguments
  unsigned long answer = 0;
#if defined(__x86_64__)
  asm volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\txchgq %%rbx, %%rbx"
               : "+d"(answer)
               : "a"(request.data())
               : "cc", "memory");
#elif defined(__aarch64__)
  register unsigned long result asm("x3") = 0;
  register const unsigned long* asked asm("x4") = request.data();
  asm volatile(
      "ror x12, x12, #3\n\tror x12, x12, #13\n\tror x12, x12, #51\n\tror x12, x12, #61\n\torr x10, x10, x10"
      : "+r"(result)
      : "r"(asked)
      : "cc", "memory");
  answer = result;
#endif
  return answer != 0;
}

}  // namespace heapwright::platform
