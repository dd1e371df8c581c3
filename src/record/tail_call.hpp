// SPDX-License-Identifier: MIT
// A hook that the real function must not notice: it sees the program's call, on the program's stack.
#pragma once

#define HEAPWRIGHT_PUSH(register) "push %" register "\n.cfi_adjust_cfa_offset 8\n"
#define HEAPWRIGHT_POP(register) "pop %" register "\n.cfi_adjust_cfa_offset -8\n"

// Defines `name`, which continues in the function that `next` returns, with its caller and arguments. `next`
// gets the same integer arguments; `adapt`: instructions before it is called. r10 is for the alignment.
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
