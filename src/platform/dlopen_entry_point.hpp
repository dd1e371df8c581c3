// SPDX-License-Identifier: MIT
// dlopen and dlsym as a preloaded library's entry points. The loader checks its caller (RUNPATH, namespaces,
// RTLD_NEXT), so ours end in a jump: the real ones return directly to the program.
#pragma once

// Defines dlopen. `find_next`, an extern "C" function named without quotes, void*(int* mode) noexcept,
// returns the dlopen to continue in; it may change the mode. It must be marked gnu::used. At namespace scope,
// once per library.
#define HEAPWRIGHT_DLOPEN_ENTRY_POINT(find_next) HEAPWRIGHT_LOADER_ENTRY_POINT(dlopen, find_next)

// The same for a function of two integer arguments, of which `find_next` gets a pointer to the second.
#if defined(__aarch64__)
#define HEAPWRIGHT_LOADER_ENTRY_POINT(name, find_next) \
  asm(".text\n"                                        \
      ".globl " #name                                  \
      "\n"                                             \
      ".type " #name ", %function\n" #name             \
      ":\n"                                            \
      ".cfi_startproc\n"                               \
      "hint #34\n" /* bti c */                         \
      "stp x29, x30, [sp, #-32]!\n"                    \
      ".cfi_adjust_cfa_offset 32\n"                    \
      ".cfi_offset 29, -32\n"                          \
      ".cfi_offset 30, -24\n"                          \
      "stp x0, x1, [sp, #16]\n"                        \
      "add x0, sp, #24\n"                              \
      "bl " #find_next                                 \
      "\n"                                             \
      "mov x16, x0\n"                                  \
      "ldp x0, x1, [sp, #16]\n"                        \
      "ldp x29, x30, [sp], #32\n"                      \
      ".cfi_restore 29\n"                              \
      ".cfi_restore 30\n"                              \
      ".cfi_adjust_cfa_offset -32\n"                   \
      "br x16\n"                                       \
      ".cfi_endproc\n"                                 \
      ".size " #name ", .-" #name "\n")
#else
#define HEAPWRIGHT_LOADER_ENTRY_POINT(name, find_next) \
  asm(".text\n"                                        \
      ".globl " #name                                  \
      "\n"                                             \
      ".type " #name ", @function\n" #name             \
      ":\n"                                            \
      ".cfi_startproc\n"                               \
      "endbr64\n"                                      \
      "push %rdi\n"                                    \
      ".cfi_adjust_cfa_offset 8\n"                     \
      "push %rsi\n"                                    \
      ".cfi_adjust_cfa_offset 8\n"                     \
      "mov %rsp, %rdi\n"                               \
      "sub $8, %rsp\n"                                 \
      ".cfi_adjust_cfa_offset 8\n"                     \
      "call " #find_next                               \
      "\n"                                             \
      "add $8, %rsp\n"                                 \
      ".cfi_adjust_cfa_offset -8\n"                    \
      "pop %rsi\n"                                     \
      ".cfi_adjust_cfa_offset -8\n"                    \
      "pop %rdi\n"                                     \
      ".cfi_adjust_cfa_offset -8\n"                    \
      "jmp *%rax\n"                                    \
      ".cfi_endproc\n"                                 \
      ".size " #name ", .-" #name "\n")
#endif
