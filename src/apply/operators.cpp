// SPDX-License-Identifier: MIT
// operator new and delete. Those of the C++ runtime are malloc and free, which are called directly; others
// are called unchanged, and what they call is looked at again.
#include <dlfcn.h>

#include <atomic>
#include <new>

#include "apply/next_functions.hpp"
#include "apply/site_heaps.hpp"
#include "apply/sites.hpp"

#define HEAPWRIGHT_OPERATOR __attribute__((visibility("default")))

namespace heapwright::apply {
namespace {

enum class OperatorKind : unsigned char { unknown, of_runtime, other };

struct NextOperator {
  const char* mangled_name;
  std::atomic<void*> function = nullptr;
  std::atomic<OperatorKind> kind = OperatorKind::unknown;
};

[[gnu::cold, gnu::noinline]] OperatorKind look_up(NextOperator& wanted) noexcept {
  find_next_functions();
  void* found = dlsym(RTLD_NEXT, wanted.mangled_name);
  if (found == nullptr) {
    // Loaded with RTLD_LOCAL, so it is not in our search order.
    void* library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) library = dlopen("libc++.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (library != nullptr) found = dlsym(library, wanted.mangled_name);
  }
  // A runtime's operators call a malloc and free that may be the program's own.
  const bool are_ours = is_first("malloc") && is_first("free") && is_first("_Znwm") && is_first("_ZdlPv");
  const OperatorKind kind =
      are_ours && found != nullptr && is_of_runtime(found) ? OperatorKind::of_runtime : OperatorKind::other;
  wanted.function.store(found, std::memory_order_relaxed);
  if (found != nullptr) wanted.kind.store(kind, std::memory_order_release);
  // Drops the error text of a look-up that failed.
  [[maybe_unused]] void* const there = dlsym(RTLD_NEXT, "malloc");
  return kind;
}

[[gnu::always_inline]] inline bool is_malloc(NextOperator& wanted) noexcept {
  OperatorKind kind = wanted.kind.load(std::memory_order_acquire);
  if (kind == OperatorKind::unknown) [[unlikely]] {
    kind = look_up(wanted);
  }
  return kind == OperatorKind::of_runtime;
}

// A program without any operators has malloc.
template <typename... A>
void* forward_new(NextOperator& wanted, std::size_t size, A... a) {
  void* function = wanted.function.load(std::memory_order_relaxed);
  if (function == nullptr) return next.malloc(size);
  return reinterpret_cast<void* (*)(std::size_t, A...)>(function)(size, a...);
}

// The runtime's continues where there is no memory: with the new handler, or it throws.
template <typename... A>
[[gnu::always_inline]] inline void* make(NextOperator& wanted, std::size_t size, A... a) {
  if (is_malloc(wanted)) [[likely]] {
    void* block = next.malloc(size);
    if (block != nullptr) [[likely]] {
      return block;
    }
  }
  return forward_new(wanted, size, a...);
}

// operator new jumps here before it has made a frame: what lies around this one is the program's.
template <NextOperator& wanted, typename... A>
[[gnu::noinline, gnu::cold]] void* make_at_site(std::size_t size, A... a) {
  const std::uint32_t remedy = remedy_of_call(__builtin_frame_address(0));
  void* block = remedy == no_remedy ? nullptr : allocate_for(remedy, size, 16);
  return block != nullptr ? block : make(wanted, size, a...);
}

template <NextOperator& wanted, typename... A>
[[gnu::noinline, gnu::cold]] void* make_aligned_at_site(std::size_t size, std::size_t alignment, A... a) {
  const std::uint32_t remedy = remedy_of_call(__builtin_frame_address(0));
  void* block = remedy == no_remedy ? nullptr : allocate_for(remedy, size, alignment);
  if (block != nullptr) return block;
  is_malloc(wanted);  // looks it up
  return forward_new(wanted, size, alignment, a...);
}

template <NextOperator& wanted, typename... A>
[[gnu::noinline]] void* make_elsewhere(std::size_t size, A... a) {
  return make(wanted, size, a...);
}

template <NextOperator& wanted, typename... A>
[[gnu::noinline]] void* make_aligned_elsewhere(std::size_t size, std::size_t alignment, A... a) {
  is_malloc(wanted);
  return forward_new(wanted, size, alignment, a...);
}

template <NextOperator& wanted, typename... A>
[[gnu::noinline, gnu::cold]] void release_elsewhere(void* block, A... a) {
  void (*const function)(void*, A...) =
      is_malloc(wanted)
          ? nullptr
          : reinterpret_cast<void (*)(void*, A...)>(wanted.function.load(std::memory_order_relaxed));
  return function == nullptr ? next.free(block) : function(block, a...);
}

template <NextOperator& wanted, typename... A>
[[gnu::always_inline]] inline void release(void* block, A... a) {
  if (is_own(block)) [[unlikely]] {
    return release_own(block);
  }
  if (wanted.kind.load(std::memory_order_relaxed) == OperatorKind::of_runtime) [[likely]] {
    return next.free(block);
  }
  return release_elsewhere<wanted>(block, a...);
}

}  // namespace
}  // namespace heapwright::apply

using namespace heapwright::apply;
using Size = std::size_t;
using Alignment = std::align_val_t;
using Tag = const std::nothrow_t&;

namespace {
// A reference is passed like a pointer, an alignment like its number.
const void* passed(Tag tag) noexcept { return &tag; }
Size passed(Alignment alignment) noexcept { return static_cast<Size>(alignment); }
}  // namespace

// A form of operator new or delete: the next one's mangled name, and after it the definition.
#define HEAPWRIGHT_NEXT(MANGLED)                                     \
  namespace {                                                        \
  constinit NextOperator next_of##MANGLED{.mangled_name = #MANGLED}; \
  }
#define HEAPWRIGHT_NEW(MANGLED, MAKE, OPERATOR, ...)                                                   \
  HEAPWRIGHT_NEXT(MANGLED)                                                                             \
  HEAPWRIGHT_OPERATOR void* OPERATOR {                                                                 \
    return may_be_site(__builtin_return_address(0)) ? MAKE##_at_site<next_of##MANGLED>(__VA_ARGS__)    \
                                                    : MAKE##_elsewhere<next_of##MANGLED>(__VA_ARGS__); \
  }
#define HEAPWRIGHT_DELETE(MANGLED, OPERATOR, ...) \
  HEAPWRIGHT_NEXT(MANGLED)                        \
  HEAPWRIGHT_OPERATOR void OPERATOR noexcept { release<next_of##MANGLED>(__VA_ARGS__); }

HEAPWRIGHT_NEW(_Znwm, make, operator new(Size size), size)
HEAPWRIGHT_NEW(_Znam, make, operator new[](Size size), size)
HEAPWRIGHT_NEW(_ZnwmRKSt9nothrow_t, make, operator new(Size size, Tag tag) noexcept, size, passed(tag))
HEAPWRIGHT_NEW(_ZnamRKSt9nothrow_t, make, operator new[](Size size, Tag tag) noexcept, size, passed(tag))
HEAPWRIGHT_NEW(_ZnwmSt11align_val_t, make_aligned, operator new(Size size, Alignment at), size, passed(at))
HEAPWRIGHT_NEW(_ZnamSt11align_val_t, make_aligned, operator new[](Size size, Alignment at), size, passed(at))
HEAPWRIGHT_NEW(_ZnwmSt11align_val_tRKSt9nothrow_t,
               make_aligned, operator new(Size size, Alignment at, Tag tag) noexcept, size, passed(at),
               passed(tag))
HEAPWRIGHT_NEW(_ZnamSt11align_val_tRKSt9nothrow_t,
               make_aligned, operator new[](Size size, Alignment at, Tag tag) noexcept, size, passed(at),
               passed(tag))

HEAPWRIGHT_DELETE(_ZdlPv, operator delete(void* block), block)
HEAPWRIGHT_DELETE(_ZdaPv, operator delete[](void* block), block)
HEAPWRIGHT_DELETE(_ZdlPvm, operator delete(void* block, Size size), block, size)
HEAPWRIGHT_DELETE(_ZdaPvm, operator delete[](void* block, Size size), block, size)
HEAPWRIGHT_DELETE(_ZdlPvRKSt9nothrow_t, operator delete(void* block, Tag tag), block, passed(tag))
HEAPWRIGHT_DELETE(_ZdaPvRKSt9nothrow_t, operator delete[](void* block, Tag tag), block, passed(tag))
HEAPWRIGHT_DELETE(_ZdlPvSt11align_val_t, operator delete(void* block, Alignment at), block, passed(at))
HEAPWRIGHT_DELETE(_ZdaPvSt11align_val_t, operator delete[](void* block, Alignment at), block, passed(at))
HEAPWRIGHT_DELETE(_ZdlPvmSt11align_val_t, operator delete(void* block, Size size, Alignment at), block, size,
                  passed(at))
HEAPWRIGHT_DELETE(_ZdaPvmSt11align_val_t, operator delete[](void* block, Size size, Alignment at), block,
                  size, passed(at))
HEAPWRIGHT_DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, operator delete(void* block, Alignment at, Tag tag),
                  block, passed(at), passed(tag))
HEAPWRIGHT_DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, operator delete[](void* block, Alignment at, Tag tag),
                  block, passed(at), passed(tag))
