// SPDX-License-Identifier: MIT
#include "apply/next_functions.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "apply/site_heaps.hpp"
#include "heap/front/allocate.hpp"
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

// For allocators without these. By the public names: the first allocator may stand before us.
void* reallocarray_by_realloc(void* block, std::size_t count, std::size_t bytes) {
  std::size_t product = 0;
  if (!__builtin_mul_overflow(count, bytes, &product)) return ::realloc(block, product);
  errno = ENOMEM;
  return nullptr;
}
void free_of_size(void* block, std::size_t) { ::free(block); }
void free_of_alignment(void* block, std::size_t, std::size_t) { ::free(block); }
std::size_t no_size(void*) { return 0; }

#define HEAPWRIGHT_FIND(NAME, VALUE, PARAMETERS, ARGUMENTS, MEANWHILE) \
  found.NAME = reinterpret_cast<decltype(found.NAME)>(dlsym(RTLD_NEXT, #NAME));
void find_all() noexcept {
  NextFunctions found{};
  HEAPWRIGHT_NEXT_FUNCTIONS(HEAPWRIGHT_FIND)
  // A look-up that succeeds: the program must not get the error text of one that failed.
  [[maybe_unused]] void* const there = dlsym(RTLD_NEXT, "malloc");
  if (found.reallocarray == nullptr) found.reallocarray = reallocarray_by_realloc;
  if (found.free_sized == nullptr) found.free_sized = free_of_size;
  if (found.free_aligned_sized == nullptr) found.free_aligned_sized = free_of_alignment;
  // Another allocator's would read whatever precedes a block.
  found.tell_sizes = object_of(found.malloc_usable_size) == object_of(found.malloc);
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

const void* object_of(const void* address) noexcept {
  Dl_info info;
  return address != nullptr && dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

// A program that is not position-independent and takes a function's address has an entry of its linkage table
// for it, which is then the function's address for all objects.
bool is_first(const char* name) noexcept {
  void* first = dlsym(RTLD_DEFAULT, name);
  Dl_info info;
  void* symbol = nullptr;
  if (first == nullptr) return false;
  if (dladdr1(first, &info, &symbol, RTLD_DL_SYMENT) != 0 && symbol != nullptr &&
      static_cast<const Elf64_Sym*>(symbol)->st_shndx == SHN_UNDEF) {
    return true;
  }
  return object_of(first) == object_of(&next);
}

bool is_of_runtime(const void* function) noexcept {
  Dl_info info;
  if (dladdr(function, &info) == 0 || info.dli_fname == nullptr) return false;
  const char* slash = std::strrchr(info.dli_fname, '/');
  const char* name = slash == nullptr ? info.dli_fname : slash + 1;
  for (const char* beginning : {"libstdc++.so", "libc++.so", "libc++abi.so"}) {
    if (std::strncmp(name, beginning, std::strlen(beginning)) == 0) return true;
  }
  return false;
}

}  // namespace heapwright::apply
