// SPDX-License-Identifier: MIT
// operator new and delete. Those of the C++ runtime are malloc and free, which the hooks call directly; an
// allocator's own operators are called unchanged.
#include <new>
#include <utility>

#include "count/hooks.hpp"
#include "count/page.hpp"
#include "platform/early_pool.hpp"
#include "platform/operator_forms.hpp"

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

[[gnu::always_inline]] inline bool is_of_runtime(const Operator& wanted) noexcept {
  return wanted.kind.load(std::memory_order_relaxed) == OperatorKind::of_runtime;
}

template <typename... A>
[[gnu::always_inline]] inline void* make_by_runtime(Operator& wanted, std::size_t size, A... a) {
  void* block =
      make<Function::new_, Failure::counted_later>(size, [=]() noexcept { return real.malloc(size); });
  if (block != nullptr) [[likely]] {
    return block;
  }
  // The runtime's operator continues from here: it calls malloc, which fails again and counts that, then the
  // new handler, or throws.
  return forward_new(wanted, size, a...);
}

// Also where the operator is not known yet.
template <typename... A>
[[gnu::noinline]] void* make_by_other(Operator& wanted, std::size_t size, A... a) {
  const OperatorKind kind = kind_of(wanted);
  if (kind == OperatorKind::of_runtime) return make_by_runtime(wanted, size, a...);
  if (kind != OperatorKind::of_allocator) return forward_new(wanted, size, a...);
  return make<Function::new_>(size, [=, &wanted] { return forward_new(wanted, size, a...); });
}

template <typename... A>
[[gnu::always_inline]] inline void* make_by_operator(Operator& wanted, std::size_t size, A... a) {
  if (is_of_runtime(wanted)) [[likely]] {
    return make_by_runtime(wanted, size, a...);
  }
  return make_by_other(wanted, size, a...);
}

template <typename... A>
[[gnu::noinline]] void release_by_other(Operator& wanted, void* block, A... a) {
  if (platform::is_early(block)) [[unlikely]] {
    return;
  }
  const OperatorKind kind = kind_of(wanted);
  if (kind == OperatorKind::of_runtime) {
    return release<Function::delete_>(block, [=]() noexcept { real.free(block); });
  }
  if (kind != OperatorKind::of_allocator) return forward_delete(wanted, block, a...);
  release<Function::delete_>(block, [=, &wanted] { forward_delete(wanted, block, a...); });
}

template <typename... A>
[[gnu::always_inline]] inline void release_by_operator(Operator& wanted, void* block, A... a) {
  if (is_of_runtime(wanted)) [[likely]] {
    return release<Function::delete_>(block, [=]() noexcept { real.free(block); });
  }
  release_by_other(wanted, block, a...);
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

}  // namespace
}  // namespace heapwright::count

using namespace heapwright::count;
using namespace heapwright::platform::operators;

#define HEAPWRIGHT_DEFINE(SERVE, VALUE, MANGLED, OPERATOR, ...) \
  namespace {                                                   \
  Operator next_of##MANGLED{.mangled_name = #MANGLED};          \
  }                                                             \
  __attribute__((visibility("default"))) VALUE OPERATOR { return SERVE(next_of##MANGLED, __VA_ARGS__); }
#define HEAPWRIGHT_NEW(...) HEAPWRIGHT_DEFINE(make_by_operator, void*, __VA_ARGS__)
#define HEAPWRIGHT_NEW_ALIGNED(...) HEAPWRIGHT_DEFINE(make_aligned, void*, __VA_ARGS__)
#define HEAPWRIGHT_DELETE(...) HEAPWRIGHT_DEFINE(release_by_operator, void, __VA_ARGS__)
HEAPWRIGHT_OPERATOR_FORMS(HEAPWRIGHT_NEW, HEAPWRIGHT_NEW_ALIGNED, HEAPWRIGHT_DELETE)
