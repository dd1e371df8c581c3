// SPDX-License-Identifier: MIT
// dlopen and dlclose. The loader looks at its caller (RUNPATH, namespaces),
// so dlopen is left by a jump: the real one returns straight to the program.
#include <dlfcn.h>

#include "record/observe.hpp"

namespace heapwright::record {

// Code opened so resolves malloc inside its own dependencies and bypasses the
// hooks; the flag stays as the program wants it, and the trace says so.
extern "C" [[gnu::used, gnu::visibility("hidden")]] void* heapwright_next_dlopen(int mode) noexcept {
  static constinit void* next = nullptr;
  if (next == nullptr) next = dlsym(RTLD_NEXT, "dlopen");
  if ((mode & RTLD_DEEPBIND) != 0 && wiped_on_fork.mode.load(std::memory_order_acquire) == Mode::active) {
    process.block->deepbind_count.fetch_add(1, std::memory_order_relaxed);
  }
  return next;
}

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
    mov %esi, %edi
    call heapwright_next_dlopen
    add $8, %rsp
    .cfi_adjust_cfa_offset -8
    pop %rsi
    .cfi_adjust_cfa_offset -8
    pop %rdi
    .cfi_adjust_cfa_offset -8
    jmp *%rax
    .cfi_endproc
    .size dlopen, .-dlopen
)");

HEAPWRIGHT_HOOK int dlclose(void* handle) noexcept {
  if (real.dlclose == nullptr) real.dlclose = reinterpret_cast<int (*)(void*)>(dlsym(RTLD_NEXT, "dlclose"));
  const int result = real.dlclose(handle);
  if (wiped_on_fork.mode.load(std::memory_order_acquire) == Mode::active)
    unwind::forget_unloaded(process.tables);
  return result;
}

}  // namespace heapwright::record
