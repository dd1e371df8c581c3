// SPDX-License-Identifier: MIT
// dlopen, dlmopen, dlsym and dlclose.
#include <dlfcn.h>

#include "platform/dlopen_entry_point.hpp"
#include "record/observe.hpp"
#include "record/own_name_bindings.hpp"
#include "record/tail_call.hpp"

namespace heapwright::record {
namespace {

// Whether objects may have been loaded since the program started.
std::atomic<bool> has_opened;

}  // namespace

// Code opened with RTLD_DEEPBIND resolves malloc in its own dependencies and bypasses the hooks. The flag is
// left as the program wants it, and the trace reports it.
extern "C" [[gnu::used, gnu::visibility("hidden")]] void* heapwright_next_dlopen(int* mode) noexcept {
  static constinit void* next = nullptr;
  if (next == nullptr) next = dlsym(RTLD_NEXT, "dlopen");
  has_opened.store(true, std::memory_order_relaxed);
  if ((*mode & RTLD_DEEPBIND) != 0 && wiped_on_fork.mode.load(std::memory_order_acquire) == Mode::active) {
    process.block->deepbind_count.fetch_add(1, std::memory_order_relaxed);
  }
  return next;
}

HEAPWRIGHT_DLOPEN_ENTRY_POINT(heapwright_next_dlopen);

// Code in a namespace of its own has its own libc: nothing of it reaches the hooks, which the trace reports.
// Like dlopen, the real function must see the program's call.
extern "C" [[gnu::used, gnu::visibility("hidden")]] void* heapwright_next_dlmopen(Lmid_t space,
                                                                                  int mode) noexcept {
  static constinit void* next = nullptr;
  if (next == nullptr) next = dlsym(RTLD_NEXT, "dlmopen");
  has_opened.store(true, std::memory_order_relaxed);
  if (wiped_on_fork.mode.load(std::memory_order_acquire) != Mode::active) return next;
  if (space != LM_ID_BASE) {
    process.block->namespace_count.fetch_add(1, std::memory_order_relaxed);
  } else if ((mode & RTLD_DEEPBIND) != 0) {
    process.block->deepbind_count.fetch_add(1, std::memory_order_relaxed);
  }
  return next;
}

HEAPWRIGHT_TAIL_CALL("dlmopen", "heapwright_next_dlmopen", HEAPWRIGHT_SECOND_IS_THIRD);

// The program can use a library it opened only after its first dlsym, so this is the moment to bind it. The
// real dlsym sees the program's call, as with dlopen; the recorder's own lookups also come through here.
extern "C" [[gnu::used, gnu::visibility("hidden")]] void* heapwright_next_dlsym() noexcept {
  static constinit void* next = nullptr;
  if (next == nullptr) next = find_next_dlsym();
  if (has_opened.load(std::memory_order_relaxed) &&
      wiped_on_fork.mode.load(std::memory_order_acquire) == Mode::active) {
    bind_own_names();
  }
  return next;
}

HEAPWRIGHT_TAIL_CALL("dlsym", "heapwright_next_dlsym", HEAPWRIGHT_NO_CHANGE);

HEAPWRIGHT_HOOK int dlclose(void* handle) noexcept {
  if (real.dlclose == nullptr) real.dlclose = reinterpret_cast<int (*)(void*)>(dlsym(RTLD_NEXT, "dlclose"));
  const int result = real.dlclose(handle);
  if (wiped_on_fork.mode.load(std::memory_order_acquire) == Mode::active && may_read_clock()) {
    unwind::forget_unloaded(process.tables);
  }
  return result;
}

}  // namespace heapwright::record
