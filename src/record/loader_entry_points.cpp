// SPDX-License-Identifier: MIT
// dlopen and dlclose.
#include <dlfcn.h>

#include "platform/dlopen_entry_point.hpp"
#include "record/observe.hpp"

namespace heapwright::record {

// Code opened so resolves malloc inside its own dependencies and bypasses the
// hooks; the flag stays as the program wants it, and the trace says so.
extern "C" [[gnu::used, gnu::visibility("hidden")]] void* heapwright_next_dlopen(int* mode) noexcept {
  static constinit void* next = nullptr;
  if (next == nullptr) next = dlsym(RTLD_NEXT, "dlopen");
  if ((*mode & RTLD_DEEPBIND) != 0 && wiped_on_fork.mode.load(std::memory_order_acquire) == Mode::active) {
    process.block->deepbind_count.fetch_add(1, std::memory_order_relaxed);
  }
  return next;
}

HEAPWRIGHT_DLOPEN_ENTRY_POINT(heapwright_next_dlopen);

HEAPWRIGHT_HOOK int dlclose(void* handle) noexcept {
  if (real.dlclose == nullptr) real.dlclose = reinterpret_cast<int (*)(void*)>(dlsym(RTLD_NEXT, "dlclose"));
  const int result = real.dlclose(handle);
  if (wiped_on_fork.mode.load(std::memory_order_acquire) == Mode::active)
    unwind::forget_unloaded(process.tables);
  return result;
}

}  // namespace heapwright::record
