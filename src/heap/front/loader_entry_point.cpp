// SPDX-License-Identifier: MIT
// dlopen without RTLD_DEEPBIND. A library opened with that flag binds malloc and free
// to the C library's and passes our blocks to its free (PHP opens its extensions this
// way), which would corrupt memory.
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
