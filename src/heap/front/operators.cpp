// SPDX-License-Identifier: MIT
// Every replaceable operator new and delete. The library is not linked with a C++
// runtime: it finds the throwing functions in the program that calls operator new.
#include <dlfcn.h>

#include <cstddef>
#include <new>

#include "heap/base/messages.hpp"
#include "heap/front/allocate.hpp"
#include "heap/front/hardened.hpp"

#define EXPORT __attribute__((visibility("default")))
// Weak, from the program's C++ runtime: std::get_new_handler() and std::__throw_bad_alloc().
extern "C" {
[[gnu::weak]] std::new_handler _ZSt15get_new_handlerv();
[[gnu::weak]] void _ZSt17__throw_bad_allocv();
}

// Also weak: the functions needed to catch a new_handler's exception.
asm(".weak __gxx_personality_v0\n.weak __cxa_begin_catch\n.weak __cxa_end_catch\n.weak _ZSt9terminatev");

namespace heap = heapwright::heap;

namespace {

// A C++ library may have been loaded after this one, with its own symbols.
void* find_in_runtime(const char* name) noexcept {
  if (void* found = dlsym(RTLD_DEFAULT, name)) return found;
  void* runtime = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
  return runtime == nullptr ? nullptr : dlsym(runtime, name);
}

std::new_handler new_handler_now() {
  using Function = std::new_handler();
  Function* function = _ZSt15get_new_handlerv;
  if (function == nullptr) function = reinterpret_cast<Function*>(find_in_runtime("_ZSt15get_new_handlerv"));
  return function == nullptr ? nullptr : function();
}

[[noreturn]] void throw_bad_alloc() {
  using Function = void();
  Function* function = _ZSt17__throw_bad_allocv;
  if (function == nullptr) {
    function = reinterpret_cast<Function*>(find_in_runtime("_ZSt17__throw_bad_allocv"));
  }
  if (function != nullptr) function();
  heap::Line line;
  heap::stop(line.text("out of memory in operator new, and no C++ runtime to throw std::bad_alloc"));
}

void* once(std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes > PTRDIFF_MAX) return nullptr;
  return alignment <= 16 ? heap::allocate(bytes) : heap::allocate_aligned(bytes, alignment);
}

[[gnu::noinline, gnu::cold]] void* retry(std::size_t bytes, std::size_t alignment) {
  for (;;) {
    const std::new_handler handler = new_handler_now();
    if (handler == nullptr) throw_bad_alloc();
    handler();
    if (void* block = once(bytes, alignment)) return block;
  }
}

[[gnu::noinline]] void* allocate_slowly_or_throw(std::size_t bytes) {
  void* block = heap::allocate_slowly(bytes);
  return block != nullptr ? block : retry(bytes, 1);
}
inline void* allocate_or_throw(std::size_t bytes) {
  void* block = heap::allocate_fast(bytes);
  return block != nullptr ? block : allocate_slowly_or_throw(bytes);
}
inline void* allocate_or_throw(std::size_t bytes, std::align_val_t alignment) {
  void* block = once(bytes, static_cast<std::size_t>(alignment));
  return block != nullptr ? block : retry(bytes, static_cast<std::size_t>(alignment));
}

// The nothrow forms run the handler, too; if it throws, they return null.
[[gnu::noinline, gnu::cold]] void* retry_quietly(std::size_t bytes, std::size_t alignment) noexcept {
  for (;;) {
    const std::new_handler handler = new_handler_now();
    if (handler == nullptr) return nullptr;
    try {
      handler();
    } catch (...) {
      return nullptr;
    }
    if (void* block = once(bytes, alignment)) return block;
  }
}

inline void* allocate_or_null(std::size_t bytes, std::size_t alignment) noexcept {
  void* block = once(bytes, alignment);
  return block != nullptr ? block : retry_quietly(bytes, alignment);
}

inline void release_aligned(void* block, std::align_val_t alignment,
                            std::size_t bytes = heap::unsaid_bytes) noexcept {
  heap::release_sized(block, bytes, static_cast<std::size_t>(alignment));
}

}  // namespace

using std::align_val_t;
using std::nothrow_t;

EXPORT HEAPWRIGHT_HOT_ENTRY void* operator new(std::size_t bytes) { return allocate_or_throw(bytes); }
EXPORT HEAPWRIGHT_HOT_ENTRY void* operator new[](std::size_t bytes) { return allocate_or_throw(bytes); }
EXPORT void* operator new(std::size_t bytes, const nothrow_t&) noexcept { return allocate_or_null(bytes, 1); }
EXPORT void* operator new[](std::size_t bytes, const nothrow_t&) noexcept {
  return allocate_or_null(bytes, 1);
}
EXPORT void* operator new(std::size_t bytes, align_val_t alignment) {
  return allocate_or_throw(bytes, alignment);
}
EXPORT void* operator new[](std::size_t bytes, align_val_t alignment) {
  return allocate_or_throw(bytes, alignment);
}
EXPORT void* operator new(std::size_t bytes, align_val_t alignment, const nothrow_t&) noexcept {
  return allocate_or_null(bytes, static_cast<std::size_t>(alignment));
}
EXPORT void* operator new[](std::size_t bytes, align_val_t alignment, const nothrow_t&) noexcept {
  return allocate_or_null(bytes, static_cast<std::size_t>(alignment));
}

EXPORT HEAPWRIGHT_HOT_ENTRY void operator delete(void* block) noexcept { heap::release(block); }
EXPORT HEAPWRIGHT_HOT_ENTRY void operator delete[](void* block) noexcept { heap::release(block); }
EXPORT HEAPWRIGHT_HOT_ENTRY void operator delete(void* block, std::size_t bytes) noexcept {
  heap::release_sized(block, bytes);
}
EXPORT HEAPWRIGHT_HOT_ENTRY void operator delete[](void* block, std::size_t bytes) noexcept {
  heap::release_sized(block, bytes);
}
EXPORT void operator delete(void* block, const nothrow_t&) noexcept { heap::release(block); }
EXPORT void operator delete[](void* block, const nothrow_t&) noexcept { heap::release(block); }
EXPORT void operator delete(void* block, align_val_t alignment) noexcept {
  release_aligned(block, alignment);
}
EXPORT void operator delete[](void* block, align_val_t alignment) noexcept {
  release_aligned(block, alignment);
}
EXPORT void operator delete(void* block, std::size_t bytes, align_val_t alignment) noexcept {
  release_aligned(block, alignment, bytes);
}
EXPORT void operator delete[](void* block, std::size_t bytes, align_val_t alignment) noexcept {
  release_aligned(block, alignment, bytes);
}
EXPORT void operator delete(void* block, align_val_t alignment, const nothrow_t&) noexcept {
  release_aligned(block, alignment);
}
EXPORT void operator delete[](void* block, align_val_t alignment, const nothrow_t&) noexcept {
  release_aligned(block, alignment);
}
