// SPDX-License-Identifier: MIT
// dlopen, dlsym and dlclose: sites may be in libraries that come and go.
#include <dlfcn.h>

#include <atomic>

#include "apply/active.hpp"
#include "apply/loaded_modules.hpp"
#include "platform/dlopen_entry_point.hpp"

namespace heapwright::apply {
namespace {

// Whether objects may have been loaded since the program started.
constinit std::atomic<bool> has_opened{false};

void* find_once(std::atomic<void*>& known, const char* name) noexcept {
  void* found = known.load(std::memory_order_relaxed);
  if (found != nullptr) return found;
  found = dlsym(RTLD_NEXT, name);
  known.store(found, std::memory_order_relaxed);
  return found;
}

}  // namespace

// Code opened with RTLD_DEEPBIND takes the C library's malloc and free, and would pass our blocks to them.
extern "C" [[gnu::used, gnu::visibility("hidden")]] void* heapwright_apply_next_dlopen(int* mode) noexcept {
  static constinit std::atomic<void*> known{nullptr};
  if (active_remedies() != nullptr) *mode &= ~RTLD_DEEPBIND;
  has_opened.store(true, std::memory_order_relaxed);
  return find_once(known, "dlopen");
}

HEAPWRIGHT_DLOPEN_ENTRY_POINT(heapwright_apply_next_dlopen);

// The program can use a library that it opened only after its first dlsym, so this is the moment to look for
// sites in it. Our own look-ups come through here, too.
extern "C" [[gnu::used, gnu::visibility("hidden")]] void* heapwright_apply_next_dlsym(const char**) noexcept {
  static constinit std::atomic<void*> known{nullptr};
  void* found = known.load(std::memory_order_relaxed);
  if (found == nullptr) {
    // Two names of one function; the second in C libraries whose libdl is a library of its own.
    found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    if (found == nullptr) found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    known.store(found, std::memory_order_relaxed);
  }
  const Remedies* remedies = active_remedies();
  if (remedies != nullptr && has_opened.load(std::memory_order_relaxed)) arm_loaded(*remedies);
  return found;
}

HEAPWRIGHT_LOADER_ENTRY_POINT(dlsym, heapwright_apply_next_dlsym);

extern "C" [[gnu::visibility("default")]] int dlclose(void* handle) noexcept {
  static constinit std::atomic<void*> known{nullptr};
  const int result = reinterpret_cast<int (*)(void*)>(find_once(known, "dlclose"))(handle);
  const Remedies* remedies = active_remedies();
  if (remedies != nullptr) arm_loaded(*remedies);
  return result;
}

}  // namespace heapwright::apply
