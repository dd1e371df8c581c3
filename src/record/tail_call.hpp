// SPDX-License-Identifier: MIT
// A hook that the real function must not notice: it sees the program's call, on the program's stack.
#pragma once

// Defines `name`, which continues in the function that `next` returns, with its caller and arguments. `next`
// gets the same integer arguments; `adapt`: what is done before it is called.
#if defined(__aarch64__)
#define HEAPWRIGHT_NO_CHANGE ""
#define HEAPWRIGHT_SECOND_IS_THIRD "mov w1, w2\n"
#define HEAPWRIGHT_TAIL_CALL(name, next, adapt)                                                          \
  asm(".text\n.globl " name "\n.type " name ", %function\n" name                                         \
      ":\n"                                                                                              \
      ".cfi_startproc\n"                                                                                 \
      "hint #34\n" /* bti c */                                                                           \
      "stp x29, x30, [sp, #-96]!\n.cfi_adjust_cfa_offset 96\n.cfi_offset 29, -96\n.cfi_offset 30, -88\n" \
      "stp x0, x1, [sp, #16]\nstp x2, x3, [sp, #32]\nstp x4, x5, [sp, #48]\nstp x6, x7, [sp, #64]\n"     \
      "str x8, [sp, #80]\n" adapt "bl " next                                                             \
      "\nmov x16, x0\n"                                                                                  \
      "ldp x0, x1, [sp, #16]\nldp x2, x3, [sp, #32]\nldp x4, x5, [sp, #48]\nldp x6, x7, [sp, #64]\n"     \
      "ldr x8, [sp, #80]\nldp x29, x30, [sp], #96\n"                                                     \
      ".cfi_restore 29\n.cfi_restore 30\n.cfi_adjust_cfa_offset -96\n"                                   \
      "br x16\n"                                                                                         \
      ".cfi_endproc\n"                                                                                   \
      ".size " name ", .-" name "\n")
#else
#define HEAPWRIGHT_NO_CHANGE ""
#define HEAPWRIGHT_SECOND_IS_THIRD "mov %edx, %esi\n"
#define HEAPWRIGHT_PUSH(register) "push %" register "\n.cfi_adjust_cfa_offset 8\n"
#define HEAPWRIGHT_POP(register) "pop %" register "\n.cfi_adjust_cfa_offset -8\n"

// r10 is for the alignment.
#define HEAPWRIGHT_TAIL_CALL(name, next, adapt) \
  asm(".text\n.globl " name "\n.type " name ", @function\n" name                                             \
      ":\n"                                                                                                  \
      ".cfi_startproc\n"                                                                                     \
      "endbr64\n" HEAPWRIGHT_PUSH("rdi") HEAPWRIGHT_PUSH("rsi") HEAPWRIGHT_PUSH("rdx") HEAPWRIGHT_PUSH("rcx") \
          HEAPWRIGHT_PUSH("r8") HEAPWRIGHT_PUSH("r9") HEAPWRIGHT_PUSH("r10") adapt                            \
      "call " next                                                                                           \
      "\n" HEAPWRIGHT_POP("r10") HEAPWRIGHT_POP("r9") HEAPWRIGHT_POP("r8") HEAPWRIGHT_POP("rcx")              \
          HEAPWRIGHT_POP("rdx") HEAPWRIGHT_POP("rsi") HEAPWRIGHT_POP("rdi")                                   \
      "jmp *%rax\n"                                                                                          \
      ".cfi_endproc\n"                                                                                       \
      ".size " name ", .-" name "\n")
#endif
