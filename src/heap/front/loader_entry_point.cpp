// SPDX-License-Identifier: MIT
// dlopen without RTLD_DEEPBIND. A library that is opened so finds malloc and
// free among its own dependencies, in the C library, and hands our blocks to
// that one's free (PHP opens its extensions this way): nobody else could keep
// such a call from corrupting memory.
#include <dlfcn.h>

#include "platform/dlopen_entry_point.hpp"

extern "C" [[gnu::used, gnu::visibility("hidden")]] void* heapwright_heap_next_dlopen(int* mode) noexcept {
  static constinit void* next = nullptr;
  void* found = __atomic_load_n(&next, __ATOMIC_RELAXED);
  if (found == nullptr) {
    found = dlsym(RTLD_NEXT, "dlopen");
    __atomic_store_n(&next, found, __ATOMIC_RELAXED);
  }
  *mode &= ~RTLD_DEEPBIND;
  return found;
}

HEAPWRIGHT_DLOPEN_ENTRY_POINT(heapwright_heap_next_dlopen);
