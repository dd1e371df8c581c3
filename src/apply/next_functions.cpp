// SPDX-License-Identifier: MIT
#include "apply/next_functions.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cerrno>

#include "apply/site_heaps.hpp"
#include "heap/front/allocate.hpp"
#include "platform/next_symbols.hpp"
#include "platform/raw_syscall.hpp"

namespace heapwright::apply {

namespace {

enum class State : std::uint32_t { unknown, finding, found };
constinit std::atomic<State> state{State::unknown};
constinit std::atomic<void*> finder{nullptr};

// False: this thread is finding them, and the loader has called us.
bool have_next_functions() noexcept {
  if (state.load(std::memory_order_acquire) == State::found) return true;
  if (finder.load(std::memory_order_relaxed) == __builtin_thread_pointer()) return false;
  find_next_functions();
  return true;
}

void* zeroed(std::size_t count, std::size_t bytes) noexcept {
  std::size_t product = 0;
  return __builtin_mul_overflow(count, bytes, &product) ? nullptr : heap::allocate_zeroed(product);
}
void* aligned(std::size_t alignment, std::size_t bytes) noexcept {
  const bool is_power = alignment != 0 && (alignment & (alignment - 1)) == 0;
  return is_power ? heap::allocate_aligned(bytes, alignment) : nullptr;
}

#define HEAPWRIGHT_FIRST(NAME, VALUE, PARAMETERS, ARGUMENTS, MEANWHILE)                 \
  VALUE first_##NAME PARAMETERS {                                                       \
    return have_next_functions() ? next.NAME ARGUMENTS : static_cast<VALUE>(MEANWHILE); \
  }
HEAPWRIGHT_NEXT_FUNCTIONS(HEAPWRIGHT_FIRST)
#undef HEAPWRIGHT_FIRST

std::size_t no_size(void*) { return 0; }

#define HEAPWRIGHT_FIND(NAME, VALUE, PARAMETERS, ARGUMENTS, MEANWHILE) \
  found.NAME = reinterpret_cast<decltype(found.NAME)>(dlsym(RTLD_NEXT, #NAME));
void find_all() noexcept {
  NextFunctions found{};
  HEAPWRIGHT_NEXT_FUNCTIONS(HEAPWRIGHT_FIND)
  // A look-up that succeeds: the program must not get the error text of one that failed.
  [[maybe_unused]] void* const there = dlsym(RTLD_NEXT, "malloc");
  // Another allocator's would read whatever precedes a block.
  found.tell_sizes = platform::object_of(found.malloc_usable_size) == platform::object_of(found.malloc);
  if (!found.tell_sizes) found.malloc_usable_size = no_size;
  next = found;
}
#undef HEAPWRIGHT_FIND

}  // namespace

#define HEAPWRIGHT_INITIAL(NAME, VALUE, PARAMETERS, ARGUMENTS, MEANWHILE) .NAME = first_##NAME,
constinit NextFunctions next{HEAPWRIGHT_NEXT_FUNCTIONS(HEAPWRIGHT_INITIAL).tell_sizes = false};
#undef HEAPWRIGHT_INITIAL

void find_next_functions() noexcept {
  State expected = State::unknown;
  if (!state.compare_exchange_strong(expected, State::finding, std::memory_order_acquire)) {
    while (state.load(std::memory_order_acquire) != State::found) platform::raw_syscall(SYS_sched_yield);
    return;
  }
  const int before = errno;
  finder.store(__builtin_thread_pointer(), std::memory_order_relaxed);
  find_all();
  errno = before;
  finder.store(nullptr, std::memory_order_relaxed);
  state.store(State::found, std::memory_order_release);
}

bool is_first(const char* name) noexcept { return platform::other_first(name, &next) == nullptr; }

}  // namespace heapwright::apply
