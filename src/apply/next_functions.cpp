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

void* first_malloc(std::size_t bytes) {
  return have_next_functions() ? next.malloc(bytes) : heap::allocate(bytes);
}
void* first_calloc(std::size_t count, std::size_t bytes) {
  if (have_next_functions()) return next.calloc(count, bytes);
  std::size_t product = 0;
  return __builtin_mul_overflow(count, bytes, &product) ? nullptr : heap::allocate_zeroed(product);
}
void* first_realloc(void* block, std::size_t bytes) {
  if (have_next_functions()) return next.realloc(block, bytes);
  return block == nullptr ? heap::allocate(bytes) : nullptr;
}
void* first_reallocarray(void* block, std::size_t count, std::size_t bytes) {
  if (have_next_functions()) return next.reallocarray(block, count, bytes);
  return block == nullptr ? first_calloc(count, bytes) : nullptr;
}
void first_free(void* block) {
  if (have_next_functions()) next.free(block);
}
void* aligned_meanwhile(std::size_t alignment, std::size_t bytes) {
  const bool is_power = alignment != 0 && (alignment & (alignment - 1)) == 0;
  return is_power ? heap::allocate_aligned(bytes, alignment) : nullptr;
}
int first_posix_memalign(void** into, std::size_t alignment, std::size_t bytes) {
  if (have_next_functions()) return next.posix_memalign(into, alignment, bytes);
  *into = aligned_meanwhile(alignment, bytes);
  return *into == nullptr ? ENOMEM : 0;
}
void* first_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return have_next_functions() ? next.aligned_alloc(alignment, bytes) : aligned_meanwhile(alignment, bytes);
}
void* first_memalign(std::size_t alignment, std::size_t bytes) {
  return have_next_functions() ? next.memalign(alignment, bytes) : aligned_meanwhile(alignment, bytes);
}
void* first_valloc(std::size_t bytes) {
  return have_next_functions() ? next.valloc(bytes) : aligned_meanwhile(4096, bytes);
}
void* first_pvalloc(std::size_t bytes) {
  return have_next_functions() ? next.pvalloc(bytes) : aligned_meanwhile(4096, bytes);
}
void first_free_sized(void* block, std::size_t bytes) {
  if (have_next_functions()) next.free_sized(block, bytes);
}
void first_free_aligned_sized(void* block, std::size_t alignment, std::size_t bytes) {
  if (have_next_functions()) next.free_aligned_sized(block, alignment, bytes);
}
std::size_t first_usable_size(void* block) {
  const bool is_known = have_next_functions() && next.malloc_usable_size != nullptr;
  return is_known ? next.malloc_usable_size(block) : 0;
}

// For allocators without these. By the public names: the first allocator may stand before us.
void* reallocarray_by_realloc(void* block, std::size_t count, std::size_t bytes) {
  std::size_t product = 0;
  if (!__builtin_mul_overflow(count, bytes, &product)) return ::realloc(block, product);
  errno = ENOMEM;
  return nullptr;
}
void free_of_size(void* block, std::size_t) { ::free(block); }
void free_of_alignment(void* block, std::size_t, std::size_t) { ::free(block); }

template <typename Function>
Function* find(const char* name) noexcept {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

const void* object_of(const void* address) noexcept {
  Dl_info info;
  return address != nullptr && dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

template <typename Function>
const void* object_of(Function* function) noexcept {
  return object_of(reinterpret_cast<const void*>(function));
}

void find_all() noexcept {
  next.free = find<void(void*)>("free");
  next.calloc = find<void*(std::size_t, std::size_t)>("calloc");
  next.realloc = find<void*(void*, std::size_t)>("realloc");
  next.malloc = find<void*(std::size_t)>("malloc");
  next.posix_memalign = find<int(void**, std::size_t, std::size_t)>("posix_memalign");
  next.aligned_alloc = find<void*(std::size_t, std::size_t)>("aligned_alloc");
  next.memalign = find<void*(std::size_t, std::size_t)>("memalign");
  next.valloc = find<void*(std::size_t)>("valloc");
  next.pvalloc = find<void*(std::size_t)>("pvalloc");
  next.reallocarray = find<void*(void*, std::size_t, std::size_t)>("reallocarray");
  if (next.reallocarray == nullptr) next.reallocarray = reallocarray_by_realloc;
  next.free_sized = find<void(void*, std::size_t)>("free_sized");
  next.free_aligned_sized = find<void(void*, std::size_t, std::size_t)>("free_aligned_sized");
  if (next.free_sized == nullptr) next.free_sized = free_of_size;
  if (next.free_aligned_sized == nullptr) next.free_aligned_sized = free_of_alignment;
  // Last, as a look-up that succeeds: the program must not get the error text of one that failed.
  next.malloc_usable_size = find<std::size_t(void*)>("malloc_usable_size");
  // Another allocator's would read whatever precedes a block.
  if (object_of(next.malloc_usable_size) != object_of(next.malloc)) next.malloc_usable_size = nullptr;
}

}  // namespace

constinit NextFunctions next{.malloc = first_malloc,
                             .calloc = first_calloc,
                             .realloc = first_realloc,
                             .reallocarray = first_reallocarray,
                             .free = first_free,
                             .posix_memalign = first_posix_memalign,
                             .aligned_alloc = first_aligned_alloc,
                             .memalign = first_memalign,
                             .valloc = first_valloc,
                             .pvalloc = first_pvalloc,
                             .free_sized = first_free_sized,
                             .free_aligned_sized = first_free_aligned_sized,
                             .malloc_usable_size = first_usable_size};

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
