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

constinit NextOperator plain_new{.mangled_name = "_Znwm"};
constinit NextOperator array_new{.mangled_name = "_Znam"};
constinit NextOperator nothrow_new{.mangled_name = "_ZnwmRKSt9nothrow_t"};
constinit NextOperator nothrow_array_new{.mangled_name = "_ZnamRKSt9nothrow_t"};
constinit NextOperator aligned_new{.mangled_name = "_ZnwmSt11align_val_t"};
constinit NextOperator aligned_array_new{.mangled_name = "_ZnamSt11align_val_t"};
constinit NextOperator aligned_nothrow_new{.mangled_name = "_ZnwmSt11align_val_tRKSt9nothrow_t"};
constinit NextOperator aligned_nothrow_array_new{.mangled_name = "_ZnamSt11align_val_tRKSt9nothrow_t"};
constinit NextOperator plain_delete{.mangled_name = "_ZdlPv"};
constinit NextOperator array_delete{.mangled_name = "_ZdaPv"};
constinit NextOperator sized_delete{.mangled_name = "_ZdlPvm"};
constinit NextOperator sized_array_delete{.mangled_name = "_ZdaPvm"};
constinit NextOperator nothrow_delete{.mangled_name = "_ZdlPvRKSt9nothrow_t"};
constinit NextOperator nothrow_array_delete{.mangled_name = "_ZdaPvRKSt9nothrow_t"};
constinit NextOperator aligned_delete{.mangled_name = "_ZdlPvSt11align_val_t"};
constinit NextOperator aligned_array_delete{.mangled_name = "_ZdaPvSt11align_val_t"};
constinit NextOperator sized_aligned_delete{.mangled_name = "_ZdlPvmSt11align_val_t"};
constinit NextOperator sized_aligned_array_delete{.mangled_name = "_ZdaPvmSt11align_val_t"};
constinit NextOperator aligned_nothrow_delete{.mangled_name = "_ZdlPvSt11align_val_tRKSt9nothrow_t"};
constinit NextOperator aligned_nothrow_array_delete{.mangled_name = "_ZdaPvSt11align_val_tRKSt9nothrow_t"};

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

#define HEAPWRIGHT_IS_SITE may_be_site(__builtin_return_address(0))

HEAPWRIGHT_OPERATOR void* operator new(Size size) {
  return HEAPWRIGHT_IS_SITE ? make_at_site<plain_new>(size) : make_elsewhere<plain_new>(size);
}
HEAPWRIGHT_OPERATOR void* operator new[](Size size) {
  return HEAPWRIGHT_IS_SITE ? make_at_site<array_new>(size) : make_elsewhere<array_new>(size);
}
HEAPWRIGHT_OPERATOR void* operator new(Size size, Tag tag) noexcept {
  return HEAPWRIGHT_IS_SITE ? make_at_site<nothrow_new>(size, passed(tag))
                            : make_elsewhere<nothrow_new>(size, passed(tag));
}
HEAPWRIGHT_OPERATOR void* operator new[](Size size, Tag tag) noexcept {
  return HEAPWRIGHT_IS_SITE ? make_at_site<nothrow_array_new>(size, passed(tag))
                            : make_elsewhere<nothrow_array_new>(size, passed(tag));
}
HEAPWRIGHT_OPERATOR void* operator new(Size size, Alignment alignment) {
  return HEAPWRIGHT_IS_SITE ? make_aligned_at_site<aligned_new>(size, passed(alignment))
                            : make_aligned_elsewhere<aligned_new>(size, passed(alignment));
}
HEAPWRIGHT_OPERATOR void* operator new[](Size size, Alignment alignment) {
  return HEAPWRIGHT_IS_SITE ? make_aligned_at_site<aligned_array_new>(size, passed(alignment))
                            : make_aligned_elsewhere<aligned_array_new>(size, passed(alignment));
}
HEAPWRIGHT_OPERATOR void* operator new(Size size, Alignment alignment, Tag tag) noexcept {
  return HEAPWRIGHT_IS_SITE
             ? make_aligned_at_site<aligned_nothrow_new>(size, passed(alignment), passed(tag))
             : make_aligned_elsewhere<aligned_nothrow_new>(size, passed(alignment), passed(tag));
}
HEAPWRIGHT_OPERATOR void* operator new[](Size size, Alignment alignment, Tag tag) noexcept {
  return HEAPWRIGHT_IS_SITE
             ? make_aligned_at_site<aligned_nothrow_array_new>(size, passed(alignment), passed(tag))
             : make_aligned_elsewhere<aligned_nothrow_array_new>(size, passed(alignment), passed(tag));
}

HEAPWRIGHT_OPERATOR void operator delete(void* block) noexcept { release<plain_delete>(block); }
HEAPWRIGHT_OPERATOR void operator delete[](void* block) noexcept { release<array_delete>(block); }
HEAPWRIGHT_OPERATOR void operator delete(void* block, Size size) noexcept {
  release<sized_delete>(block, size);
}
HEAPWRIGHT_OPERATOR void operator delete[](void* block, Size size) noexcept {
  release<sized_array_delete>(block, size);
}
HEAPWRIGHT_OPERATOR void operator delete(void* block, Tag tag) noexcept {
  release<nothrow_delete>(block, passed(tag));
}
HEAPWRIGHT_OPERATOR void operator delete[](void* block, Tag tag) noexcept {
  release<nothrow_array_delete>(block, passed(tag));
}
HEAPWRIGHT_OPERATOR void operator delete(void* block, Alignment alignment) noexcept {
  release<aligned_delete>(block, alignment);
}
HEAPWRIGHT_OPERATOR void operator delete[](void* block, Alignment alignment) noexcept {
  release<aligned_array_delete>(block, alignment);
}
HEAPWRIGHT_OPERATOR void operator delete(void* block, Size size, Alignment alignment) noexcept {
  release<sized_aligned_delete>(block, size, alignment);
}
HEAPWRIGHT_OPERATOR void operator delete[](void* block, Size size, Alignment alignment) noexcept {
  release<sized_aligned_array_delete>(block, size, alignment);
}
HEAPWRIGHT_OPERATOR void operator delete(void* block, Alignment alignment, Tag tag) noexcept {
  release<aligned_nothrow_delete>(block, alignment, passed(tag));
}
HEAPWRIGHT_OPERATOR void operator delete[](void* block, Alignment alignment, Tag tag) noexcept {
  release<aligned_nothrow_array_delete>(block, alignment, passed(tag));
}
