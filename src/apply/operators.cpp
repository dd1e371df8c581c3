// SPDX-License-Identifier: MIT
// operator new and delete. Those of the C++ runtime are malloc and free, which are called directly; others
// are called unchanged, and what they call is looked at again.
#include <dlfcn.h>

#include <atomic>

#include "apply/next_functions.hpp"
#include "apply/site_heaps.hpp"
#include "apply/sites.hpp"
#include "platform/next_symbols.hpp"
#include "platform/operator_forms.hpp"

namespace heapwright::apply {
namespace {

struct NextOperator {
  const char* mangled_name;
  std::atomic<void*> function = nullptr;  // not looked up yet, or there is none
  std::atomic<bool> is_of_runtime = false;
};

[[gnu::cold, gnu::noinline]] bool look_up(NextOperator& wanted) noexcept {
  find_next_functions();
  void* const found = platform::next_operator(wanted.mangled_name);
  // A runtime's operators call a malloc and free that may be the program's own.
  const bool are_ours = is_first("malloc") && is_first("free") && is_first("_Znwm") && is_first("_ZdlPv");
  const bool is_of_runtime = are_ours && found != nullptr && platform::is_in_cpp_runtime(found);
  wanted.function.store(found, std::memory_order_relaxed);
  wanted.is_of_runtime.store(is_of_runtime, std::memory_order_release);
  // Drops the error text of a look-up that failed.
  [[maybe_unused]] void* const there = dlsym(RTLD_NEXT, "malloc");
  return is_of_runtime;
}

[[gnu::always_inline]] inline bool is_malloc(NextOperator& wanted) noexcept {
  if (wanted.is_of_runtime.load(std::memory_order_acquire)) [[likely]] {
    return true;
  }
  return wanted.function.load(std::memory_order_relaxed) == nullptr && look_up(wanted);
}

// The runtime's continues where there is no memory: with the new handler, or it throws. A program without any
// operators has malloc.
template <typename... A>
void* forward_new(NextOperator& wanted, std::size_t size, A... a) {
  void* function = wanted.function.load(std::memory_order_relaxed);
  if (function == nullptr) return next.malloc(size);
  return reinterpret_cast<void* (*)(std::size_t, A...)>(function)(size, a...);
}

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

template <typename... A>
void* make(NextOperator& wanted, std::size_t size, std::align_val_t alignment, A... a) {
  is_malloc(wanted);  // looks it up
  return forward_new(wanted, size, alignment, a...);
}

template <typename... A>
constexpr std::size_t alignment_in(A...) noexcept {
  return 16;
}
template <typename... A>
constexpr std::size_t alignment_in(std::align_val_t alignment, A...) noexcept {
  return static_cast<std::size_t>(alignment);
}

// operator new jumps here before it has made a frame: what lies around this one is the program's.
template <NextOperator& wanted, typename... A>
[[gnu::noinline, gnu::cold]] void* make_at_site(std::size_t size, A... a) {
  const std::uint32_t remedy = remedy_of_call(__builtin_frame_address(0));
  void* block = remedy == no_remedy ? nullptr : allocate_for(remedy, size, alignment_in(a...));
  return block != nullptr ? block : make(wanted, size, a...);
}

template <NextOperator& wanted, typename... A>
[[gnu::noinline]] void* make_elsewhere(std::size_t size, A... a) {
  return make(wanted, size, a...);
}

template <NextOperator& wanted, typename... A>
[[gnu::noinline, gnu::cold]] void release_elsewhere(void* block, A... a) {
  const bool is_free = is_malloc(wanted);
  void* function = wanted.function.load(std::memory_order_relaxed);
  if (is_free || function == nullptr) return next.free(block);
  reinterpret_cast<void (*)(void*, A...)>(function)(block, a...);
}

template <NextOperator& wanted, typename... A>
[[gnu::always_inline]] inline void release(void* block, A... a) {
  if (is_own(block)) [[unlikely]] {
    return release_own(block);
  }
  if (wanted.is_of_runtime.load(std::memory_order_relaxed)) [[likely]] {
    return next.free(block);
  }
  return release_elsewhere<wanted>(block, a...);
}

}  // namespace
}  // namespace heapwright::apply

using namespace heapwright::apply;
using namespace heapwright::platform::operators;

#define HEAPWRIGHT_OPERATOR(MANGLED, DEFINITION)                     \
  namespace {                                                        \
  constinit NextOperator next_of##MANGLED{.mangled_name = #MANGLED}; \
  }                                                                  \
  __attribute__((visibility("default"))) DEFINITION
#define HEAPWRIGHT_NEW(MANGLED, DECLARED, ...)                                                           \
  HEAPWRIGHT_OPERATOR(                                                                                   \
      MANGLED, void* DECLARED {                                                                          \
        return may_be_site(__builtin_return_address(0)) ? make_at_site<next_of##MANGLED>(__VA_ARGS__)    \
                                                        : make_elsewhere<next_of##MANGLED>(__VA_ARGS__); \
      })
#define HEAPWRIGHT_DELETE(MANGLED, DECLARED, ...) \
  HEAPWRIGHT_OPERATOR(                            \
      MANGLED, void DECLARED { release<next_of##MANGLED>(__VA_ARGS__); })
HEAPWRIGHT_OPERATOR_FORMS(HEAPWRIGHT_NEW, HEAPWRIGHT_NEW, HEAPWRIGHT_DELETE)
