// SPDX-License-Identifier: MIT
// The hook behind heap_budget, compiled into one source file of the program.
//
//   sanitizers   their own malloc and free hooks; operator new and delete are
//                defined for failure injection
//   dynamic      the program defines the malloc family, in front of the
//                allocator's
//   static       HEAPWRIGHT_HEAP_BUDGET_WRAP: __wrap_malloc and so on, with the
//                linker options of heapwright_heap_budget_static() in CMake
//
// mmap and brk are not counted: pages are not heap blocks.
#ifndef HEAPWRIGHT_DETAIL_HEAP_BUDGET_HOOK_HPP
#define HEAPWRIGHT_DETAIL_HEAP_BUDGET_HOOK_HPP

#include <malloc.h>

#include <cerrno>
#include <cstdlib>
#include <new>

#include "heapwright/detail/check.hpp"
#include "heapwright/detail/heap_events.hpp"
#include "heapwright/detail/heap_hook.hpp"

extern "C" void heapwright_thread_heap_calls(std::uint64_t* allocations, std::uint64_t* releases) noexcept {
  *allocations = heapwright::hook::heap_of_thread.allocations;
  *releases = heapwright::hook::heap_of_thread.releases;
}

#if defined(__SANITIZE_THREAD__)
#define HEAPWRIGHT_SANITIZER_HOOKS 1
#define HEAPWRIGHT_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HEAPWRIGHT_SANITIZER_HOOKS 1
#define HEAPWRIGHT_TSAN 1
#elif __has_feature(memory_sanitizer)
#define HEAPWRIGHT_SANITIZER_HOOKS 1
#endif
#endif
#if HEAPWRIGHT_ASAN
#define HEAPWRIGHT_SANITIZER_HOOKS 1
#endif

#if defined(HEAPWRIGHT_SANITIZER_HOOKS)

extern "C" {
int __sanitizer_install_malloc_and_free_hooks(void (*allocated)(const volatile void*, std::size_t),
                                              void (*released)(const volatile void*));
std::size_t __sanitizer_get_allocated_size(const volatile void* block);
}

namespace heapwright::inline HEAPWRIGHT_ABI::detail {

inline const int hooks_installed = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void* block, std::size_t bytes) {
      if (block != nullptr) hook::heap_allocated(bytes, bytes);
    },
    [](const volatile void* block) {
      if (block != nullptr) hook::heap_released(__sanitizer_get_allocated_size(block));
    });

// Null when out of memory or a failure is injected.
inline void* new_block_or_null(std::size_t bytes, std::size_t alignment) noexcept {
  if (hook::heap_must_fail()) return nullptr;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1));
}
inline void* new_block(std::size_t bytes, std::size_t alignment) {
  void* block = new_block_or_null(bytes, alignment);
  if (block == nullptr) throw_bad_alloc();
  return block;
}

}  // namespace heapwright::inline HEAPWRIGHT_ABI::detail

// Clang's ThreadSanitizer defines operators that a program cannot replace.
#if !defined(__clang__) || !defined(HEAPWRIGHT_TSAN)
// If inlined, they look to the compiler like free() of a block from new
// (-Wmismatched-new-delete).
#define HEAPWRIGHT_NOT_INLINED __attribute__((noinline))
HEAPWRIGHT_NOT_INLINED void* operator new(std::size_t bytes) {
  return heapwright::detail::new_block(bytes, 1);
}
HEAPWRIGHT_NOT_INLINED void* operator new[](std::size_t bytes) {
  return heapwright::detail::new_block(bytes, 1);
}
HEAPWRIGHT_NOT_INLINED void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return heapwright::detail::new_block(bytes, static_cast<std::size_t>(alignment));
}
HEAPWRIGHT_NOT_INLINED void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return heapwright::detail::new_block(bytes, static_cast<std::size_t>(alignment));
}
HEAPWRIGHT_NOT_INLINED void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return heapwright::detail::new_block_or_null(bytes, 1);
}
HEAPWRIGHT_NOT_INLINED void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return heapwright::detail::new_block_or_null(bytes, 1);
}
HEAPWRIGHT_NOT_INLINED void* operator new(std::size_t bytes, std::align_val_t alignment,
                                          const std::nothrow_t&) noexcept {
  return heapwright::detail::new_block_or_null(bytes, static_cast<std::size_t>(alignment));
}
HEAPWRIGHT_NOT_INLINED void* operator new[](std::size_t bytes, std::align_val_t alignment,
                                            const std::nothrow_t&) noexcept {
  return heapwright::detail::new_block_or_null(bytes, static_cast<std::size_t>(alignment));
}
HEAPWRIGHT_NOT_INLINED void operator delete(void* block) noexcept { std::free(block); }
HEAPWRIGHT_NOT_INLINED void operator delete[](void* block) noexcept { std::free(block); }
HEAPWRIGHT_NOT_INLINED void operator delete(void* block, std::size_t) noexcept { std::free(block); }
HEAPWRIGHT_NOT_INLINED void operator delete[](void* block, std::size_t) noexcept { std::free(block); }
HEAPWRIGHT_NOT_INLINED void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
HEAPWRIGHT_NOT_INLINED void operator delete[](void* block, std::align_val_t) noexcept { std::free(block); }
HEAPWRIGHT_NOT_INLINED void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
  std::free(block);
}
HEAPWRIGHT_NOT_INLINED void operator delete[](void* block, std::size_t, std::align_val_t) noexcept {
  std::free(block);
}
HEAPWRIGHT_NOT_INLINED void operator delete(void* block, const std::nothrow_t&) noexcept { std::free(block); }
HEAPWRIGHT_NOT_INLINED void operator delete[](void* block, const std::nothrow_t&) noexcept {
  std::free(block);
}
HEAPWRIGHT_NOT_INLINED void operator delete(void* block, std::align_val_t, const std::nothrow_t&) noexcept {
  std::free(block);
}
HEAPWRIGHT_NOT_INLINED void operator delete[](void* block, std::align_val_t, const std::nothrow_t&) noexcept {
  std::free(block);
}
#undef HEAPWRIGHT_NOT_INLINED
#endif

#if defined(HEAPWRIGHT_TSAN)
// ThreadSanitizer does not call its hooks from the aligned functions.
#define HEAPWRIGHT_ENTRY(name) name
extern "C" void* __libc_memalign(std::size_t alignment, std::size_t bytes);
namespace heapwright::inline HEAPWRIGHT_ABI::detail {
inline void* aligned_block(std::size_t alignment, std::size_t bytes) noexcept {
  void* block = __libc_memalign(alignment, bytes);
  if (block != nullptr) hook::heap_allocated(bytes, __sanitizer_get_allocated_size(block));
  return block;
}
}  // namespace heapwright::inline HEAPWRIGHT_ABI::detail
#undef HEAPWRIGHT_TSAN
#endif

#else

// The allocator's functions. In a dynamic program they are the next definitions
// after the program's; glibc's serve until dlsym() can be called.
#if defined(HEAPWRIGHT_HEAP_BUDGET_WRAP)
#define HEAPWRIGHT_ENTRY(name) __wrap_##name
extern "C" {
void* __real_malloc(std::size_t bytes);
void* __real_calloc(std::size_t count, std::size_t bytes);
void* __real_realloc(void* block, std::size_t bytes);
void* __real_memalign(std::size_t alignment, std::size_t bytes);
void __real_free(void* block);
}
namespace heapwright::inline HEAPWRIGHT_ABI::detail {
struct real_heap {
  decltype(&__real_malloc) malloc = &__real_malloc;
  decltype(&__real_calloc) calloc = &__real_calloc;
  decltype(&__real_realloc) realloc = &__real_realloc;
  decltype(&__real_memalign) memalign = &__real_memalign;
  decltype(&__real_free) free = &__real_free;
};
inline constinit real_heap heap_below{};
inline const real_heap& below() noexcept { return heap_below; }
}  // namespace heapwright::inline HEAPWRIGHT_ABI::detail
#else
#include <dlfcn.h>
#define HEAPWRIGHT_ENTRY(name) name
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* block, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
void __libc_free(void* block);
}
namespace heapwright::inline HEAPWRIGHT_ABI::detail {
struct real_heap {
  decltype(&__libc_malloc) malloc = &__libc_malloc;
  decltype(&__libc_calloc) calloc = &__libc_calloc;
  decltype(&__libc_realloc) realloc = &__libc_realloc;
  decltype(&__libc_memalign) memalign = &__libc_memalign;
  decltype(&__libc_free) free = &__libc_free;
};
inline constinit real_heap heap_below{};
inline constinit bool is_heap_asked = false;

template <class Function>
void ask_linker(Function& function, const char* name) noexcept {
  if (void* found = dlsym(RTLD_NEXT, name)) function = reinterpret_cast<Function>(found);
}
// First called before main, while there is one thread.
inline const real_heap& below() noexcept {
  if (!is_heap_asked) [[unlikely]] {
    is_heap_asked = true;
    real_heap found;
    ask_linker(found.malloc, "malloc");
    ask_linker(found.calloc, "calloc");
    ask_linker(found.realloc, "realloc");
    ask_linker(found.memalign, "memalign");
    ask_linker(found.free, "free");
    heap_below = found;
  }
  return heap_below;
}
}  // namespace heapwright::inline HEAPWRIGHT_ABI::detail
#endif

namespace heapwright::inline HEAPWRIGHT_ABI::detail {

inline void* counted(void* block, std::size_t bytes) noexcept {
  if (block != nullptr) hook::heap_allocated(bytes, malloc_usable_size(block));
  return block;
}
inline void* out_of_memory() noexcept {
  errno = ENOMEM;
  return nullptr;
}
inline void* aligned_block(std::size_t alignment, std::size_t bytes) noexcept {
  if (hook::heap_must_fail()) return out_of_memory();
  return counted(below().memalign(alignment, bytes), bytes);
}

}  // namespace heapwright::inline HEAPWRIGHT_ABI::detail

extern "C" {

void* HEAPWRIGHT_ENTRY(malloc)(std::size_t bytes) {
  if (heapwright::hook::heap_must_fail()) return heapwright::detail::out_of_memory();
  return heapwright::detail::counted(heapwright::detail::below().malloc(bytes), bytes);
}

void* HEAPWRIGHT_ENTRY(calloc)(std::size_t count, std::size_t bytes) {
  if (heapwright::hook::heap_must_fail()) return heapwright::detail::out_of_memory();
  return heapwright::detail::counted(heapwright::detail::below().calloc(count, bytes), count * bytes);
}

void* HEAPWRIGHT_ENTRY(realloc)(void* block, std::size_t bytes) {
  const bool is_release = block != nullptr && bytes == 0;  // cannot fail
  if (!is_release && heapwright::hook::heap_must_fail()) return heapwright::detail::out_of_memory();
  const std::size_t before = block != nullptr ? malloc_usable_size(block) : 0;
  void* moved = heapwright::detail::below().realloc(block, bytes);
  if (block != nullptr && (moved != nullptr || is_release)) heapwright::hook::heap_released(before);
  return heapwright::detail::counted(moved, bytes);
}

void HEAPWRIGHT_ENTRY(free)(void* block) {
  if (block == nullptr) return;
  heapwright::hook::heap_released(malloc_usable_size(block));
  heapwright::detail::below().free(block);
}
}
#endif

#if defined(HEAPWRIGHT_ENTRY)
extern "C" {

void* HEAPWRIGHT_ENTRY(memalign)(std::size_t alignment, std::size_t bytes) {
  return heapwright::detail::aligned_block(alignment, bytes);
}

void* HEAPWRIGHT_ENTRY(aligned_alloc)(std::size_t alignment, std::size_t bytes) {
  return heapwright::detail::aligned_block(alignment, bytes);
}

int HEAPWRIGHT_ENTRY(posix_memalign)(void** block, std::size_t alignment, std::size_t bytes) {
  if (alignment % sizeof(void*) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) return EINVAL;
  const int before = errno;
  void* found = heapwright::detail::aligned_block(alignment, bytes);
  errno = before;
  if (found == nullptr) return ENOMEM;
  *block = found;
  return 0;
}

void* HEAPWRIGHT_ENTRY(valloc)(std::size_t bytes) { return heapwright::detail::aligned_block(4096, bytes); }

void* HEAPWRIGHT_ENTRY(pvalloc)(std::size_t bytes) {
  if (bytes > SIZE_MAX - 4095) {
    errno = ENOMEM;
    return nullptr;
  }
  return heapwright::detail::aligned_block(4096, (bytes + 4095) & ~std::size_t{4095});
}

}  // extern "C"
#endif
#endif
