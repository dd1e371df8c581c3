// SPDX-License-Identifier: MIT
// dlopen without RTLD_DEEPBIND. A library that is opened so finds malloc and
// free among its own dependencies, in the C library, and hands our blocks to
// that one's free (PHP opens its extensions this way): nobody else could keep
// such a call from corrupting memory. The loader looks at its caller (RUNPATH,
// namespaces), so dlopen is left by a jump and returns straight to the program.
#include <dlfcn.h>

extern "C" [[gnu::used, gnu::visibility("hidden")]] void* heapwright_heap_next_dlopen() noexcept {
  static constinit void* next = nullptr;
  void* found = __atomic_load_n(&next, __ATOMIC_RELAXED);
  if (found == nullptr) {
    found = dlsym(RTLD_NEXT, "dlopen");
    __atomic_store_n(&next, found, __ATOMIC_RELAXED);
  }
  return found;
}

static_assert(RTLD_DEEPBIND == 8);

asm(R"(
    .text
    .globl dlopen
    .type dlopen, @function
dlopen:
    .cfi_startproc
    endbr64
    push %rdi
    .cfi_adjust_cfa_offset 8
    push %rsi
    .cfi_adjust_cfa_offset 8
    sub $8, %rsp
    .cfi_adjust_cfa_offset 8
    call heapwright_heap_next_dlopen
    add $8, %rsp
    .cfi_adjust_cfa_offset -8
    pop %rsi
    .cfi_adjust_cfa_offset -8
    pop %rdi
    .cfi_adjust_cfa_offset -8
    and $~8, %esi
    jmp *%rax
    .cfi_endproc
    .size dlopen, .-dlopen
)");
