// SPDX-License-Identifier: MIT
// operator new and delete. Those of the C++ runtime are malloc and free, which the hooks call directly; an
// allocator's own operators are called unchanged.
#include <new>
#include <utility>

#include "count/hooks.hpp"
#include "count/page.hpp"
#include "platform/early_pool.hpp"

#define HEAPWRIGHT_OPERATOR __attribute__((visibility("default")))

namespace heapwright::count {
namespace {

template <typename... A>
using MakingFunction = void* (*)(A...);
template <typename... A>
using ReleasingFunction = void (*)(void*, A...);

// By their kind; a program without any operators falls back to malloc.
template <typename... A>
void* forward_new(const Operator& wanted, std::size_t size, A... a) {
  if (wanted.next == nullptr) return malloc(size);
  return reinterpret_cast<MakingFunction<std::size_t, A...>>(wanted.next)(size, a...);
}

template <typename... A>
void forward_delete(const Operator& wanted, void* block, A... a) {
  if (wanted.next == nullptr) return free(block);
  reinterpret_cast<ReleasingFunction<A...>>(wanted.next)(block, a...);
}

// Allocations by libc meanwhile are not the program's.
[[gnu::cold, gnu::noinline]] void look_up(Operator& wanted) noexcept {
  if (!are_real_functions_found) link_process();
  forget_failed_lookups();  // the program's own, whose release counts like its allocation
  Thread* const thread = step_aside();
  find_operator(wanted);
  step_back(thread);
}

[[gnu::always_inline]] inline OperatorKind kind_of(Operator& wanted) noexcept {
  if (wanted.kind.load(std::memory_order_relaxed) == OperatorKind::unknown) [[unlikely]] {
    look_up(wanted);
  }
  return wanted.kind.load(std::memory_order_relaxed);
}

template <typename... A>
[[gnu::always_inline]] inline void* make_by_operator(Operator& wanted, std::size_t size, A... a) {
  const OperatorKind kind = kind_of(wanted);
  if (kind == OperatorKind::of_runtime) [[likely]] {
    void* block =
        make<Function::new_, Failure::counted_later>(size, [=]() noexcept { return real.malloc(size); });
    if (block != nullptr) [[likely]] {
      return block;
    }
    // The runtime's operator continues from here: it calls malloc, which fails again and counts that, then
    // the new handler, or throws.
  }
  if (kind != OperatorKind::of_allocator) return forward_new(wanted, size, a...);
  return make<Function::new_>(size, [=, &wanted] { return forward_new(wanted, size, a...); });
}

template <typename... A>
[[gnu::always_inline]] inline void release_by_operator(Operator& wanted, void* block, A... a) {
  if (platform::is_early(block)) [[unlikely]] {
    return;
  }
  const OperatorKind kind = kind_of(wanted);
  if (kind == OperatorKind::of_runtime) [[likely]] {
    return release<Function::delete_>(block, [=]() noexcept { real.free(block); });
  }
  if (kind != OperatorKind::of_allocator) return forward_delete(wanted, block, a...);
  release<Function::delete_>(block, [=, &wanted] { forward_delete(wanted, block, a...); });
}

template <typename... A>
void* make_aligned(Operator& wanted, std::size_t size, std::align_val_t alignment, A... a) {
  const OperatorKind kind = kind_of(wanted);
  const auto step = static_cast<std::size_t>(alignment);
  if (kind == OperatorKind::of_runtime && size <= SIZE_MAX - step) {
    // The runtime's operator requests whole multiples.
    void* block = make<Function::aligned_, Failure::counted_later>(
        size, [=]() noexcept { return real.aligned_alloc(step, (size + step - 1) & ~(step - 1)); });
    if (block != nullptr) return block;
  }
  if (kind != OperatorKind::of_allocator) return forward_new(wanted, size, alignment, a...);
  return make<Function::aligned_>(size, [=, &wanted] { return forward_new(wanted, size, alignment, a...); });
}

Operator plain_new{.mangled_name = "_Znwm"};
Operator array_new{.mangled_name = "_Znam"};
Operator nothrow_new{.mangled_name = "_ZnwmRKSt9nothrow_t"};
Operator nothrow_array_new{.mangled_name = "_ZnamRKSt9nothrow_t"};
Operator aligned_new{.mangled_name = "_ZnwmSt11align_val_t"};
Operator aligned_array_new{.mangled_name = "_ZnamSt11align_val_t"};
Operator aligned_nothrow_new{.mangled_name = "_ZnwmSt11align_val_tRKSt9nothrow_t"};
Operator aligned_nothrow_array_new{.mangled_name = "_ZnamSt11align_val_tRKSt9nothrow_t"};
Operator plain_delete{.mangled_name = "_ZdlPv"};
Operator array_delete{.mangled_name = "_ZdaPv"};
Operator sized_delete{.mangled_name = "_ZdlPvm"};
Operator sized_array_delete{.mangled_name = "_ZdaPvm"};
Operator nothrow_delete{.mangled_name = "_ZdlPvRKSt9nothrow_t"};
Operator nothrow_array_delete{.mangled_name = "_ZdaPvRKSt9nothrow_t"};
Operator aligned_delete{.mangled_name = "_ZdlPvSt11align_val_t"};
Operator aligned_array_delete{.mangled_name = "_ZdaPvSt11align_val_t"};
Operator sized_aligned_delete{.mangled_name = "_ZdlPvmSt11align_val_t"};
Operator sized_aligned_array_delete{.mangled_name = "_ZdaPvmSt11align_val_t"};
Operator aligned_nothrow_delete{.mangled_name = "_ZdlPvSt11align_val_tRKSt9nothrow_t"};
Operator aligned_nothrow_array_delete{.mangled_name = "_ZdaPvSt11align_val_tRKSt9nothrow_t"};

}  // namespace
}  // namespace heapwright::count

using namespace heapwright::count;
using Size = std::size_t;
using Alignment = std::align_val_t;
using Tag = const std::nothrow_t&;

namespace {
// A reference is passed like a pointer.
const void* passed(Tag tag) noexcept { return &tag; }
}  // namespace

HEAPWRIGHT_OPERATOR void* operator new(Size size) { return make_by_operator(plain_new, size); }
HEAPWRIGHT_OPERATOR void* operator new[](Size size) { return make_by_operator(array_new, size); }
HEAPWRIGHT_OPERATOR void* operator new(Size size, Tag tag) noexcept {
  return make_by_operator(nothrow_new, size, passed(tag));
}
HEAPWRIGHT_OPERATOR void* operator new[](Size size, Tag tag) noexcept {
  return make_by_operator(nothrow_array_new, size, passed(tag));
}
HEAPWRIGHT_OPERATOR void* operator new(Size size, Alignment alignment) {
  return make_aligned(aligned_new, size, alignment);
}
HEAPWRIGHT_OPERATOR void* operator new[](Size size, Alignment alignment) {
  return make_aligned(aligned_array_new, size, alignment);
}
HEAPWRIGHT_OPERATOR void* operator new(Size size, Alignment alignment, Tag tag) noexcept {
  return make_aligned(aligned_nothrow_new, size, alignment, passed(tag));
}
HEAPWRIGHT_OPERATOR void* operator new[](Size size, Alignment alignment, Tag tag) noexcept {
  return make_aligned(aligned_nothrow_array_new, size, alignment, passed(tag));
}

HEAPWRIGHT_OPERATOR void operator delete(void* block) noexcept { release_by_operator(plain_delete, block); }
HEAPWRIGHT_OPERATOR void operator delete[](void* block) noexcept { release_by_operator(array_delete, block); }
HEAPWRIGHT_OPERATOR void operator delete(void* block, Size size) noexcept {
  release_by_operator(sized_delete, block, size);
}
HEAPWRIGHT_OPERATOR void operator delete[](void* block, Size size) noexcept {
  release_by_operator(sized_array_delete, block, size);
}
HEAPWRIGHT_OPERATOR void operator delete(void* block, Tag tag) noexcept {
  release_by_operator(nothrow_delete, block, passed(tag));
}
HEAPWRIGHT_OPERATOR void operator delete[](void* block, Tag tag) noexcept {
  release_by_operator(nothrow_array_delete, block, passed(tag));
}
HEAPWRIGHT_OPERATOR void operator delete(void* block, Alignment alignment) noexcept {
  release_by_operator(aligned_delete, block, alignment);
}
HEAPWRIGHT_OPERATOR void operator delete[](void* block, Alignment alignment) noexcept {
  release_by_operator(aligned_array_delete, block, alignment);
}
HEAPWRIGHT_OPERATOR void operator delete(void* block, Size size, Alignment alignment) noexcept {
  release_by_operator(sized_aligned_delete, block, size, alignment);
}
HEAPWRIGHT_OPERATOR void operator delete[](void* block, Size size, Alignment alignment) noexcept {
  release_by_operator(sized_aligned_array_delete, block, size, alignment);
}
HEAPWRIGHT_OPERATOR void operator delete(void* block, Alignment alignment, Tag tag) noexcept {
  release_by_operator(aligned_nothrow_delete, block, alignment, passed(tag));
}
HEAPWRIGHT_OPERATOR void operator delete[](void* block, Alignment alignment, Tag tag) noexcept {
  release_by_operator(aligned_nothrow_array_delete, block, alignment, passed(tag));
}
