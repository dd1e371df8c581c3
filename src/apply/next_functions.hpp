// SPDX-License-Identifier: MIT
// The functions that the program would have called without us: the next ones in its symbol search order.
#pragma once

#include <cstddef>

namespace heapwright::apply {

// FORM(name, its value, parameters, arguments, what the first call does while the loader looks them up)
#define HEAPWRIGHT_NEXT_FUNCTIONS(FORM)                                                                 \
  FORM(malloc, void*, (std::size_t bytes), (bytes), heap::allocate(bytes))                              \
  FORM(calloc, void*, (std::size_t count, std::size_t bytes), (count, bytes), zeroed(count, bytes))     \
  FORM(realloc, void*, (void* block, std::size_t bytes), (block, bytes),                                \
       block == nullptr ? heap::allocate(bytes) : nullptr)                                              \
  FORM(reallocarray, void*, (void* block, std::size_t count, std::size_t bytes), (block, count, bytes), \
       block == nullptr ? zeroed(count, bytes) : nullptr)                                               \
  FORM(free, void, (void* block), (block), void())                                                      \
  FORM(posix_memalign, int, (void** into, std::size_t alignment, std::size_t bytes),                    \
       (into, alignment, bytes), (*into = aligned(alignment, bytes)) == nullptr ? ENOMEM : 0)           \
  FORM(aligned_alloc, void*, (std::size_t alignment, std::size_t bytes), (alignment, bytes),            \
       aligned(alignment, bytes))                                                                       \
  FORM(memalign, void*, (std::size_t alignment, std::size_t bytes), (alignment, bytes),                 \
       aligned(alignment, bytes))                                                                       \
  FORM(valloc, void*, (std::size_t bytes), (bytes), aligned(4096, bytes))                               \
  FORM(pvalloc, void*, (std::size_t bytes), (bytes), aligned(4096, bytes))                              \
  FORM(free_sized, void, (void* block, std::size_t bytes), (block, bytes), void())                      \
  FORM(free_aligned_sized, void, (void* block, std::size_t alignment, std::size_t bytes),               \
       (block, alignment, bytes), void())                                                               \
  FORM(malloc_usable_size, std::size_t, (void* block), (block), 0)

#define HEAPWRIGHT_MEMBER(NAME, VALUE, PARAMETERS, ARGUMENTS, MEANWHILE) VALUE(*NAME) PARAMETERS;
struct NextFunctions {
  HEAPWRIGHT_NEXT_FUNCTIONS(HEAPWRIGHT_MEMBER)
  bool tell_sizes;  // the allocator has a malloc_usable_size
};
#undef HEAPWRIGHT_MEMBER
// The first call of each looks all of them up; what the loader allocates meanwhile is in our heap.
[[gnu::visibility("hidden")]] extern constinit NextFunctions next;

void find_next_functions() noexcept;

// Whether all callers' functions with this name are ours: the program may have its own, and another preloaded
// allocator may stand before us.
bool is_first(const char* name) noexcept;

// The beginning of the file in memory that has the address; nullptr: none has.
const void* object_of(const void* address) noexcept;
template <typename Function>
const void* object_of(Function* function) noexcept {
  return object_of(reinterpret_cast<const void*>(function));
}

// Whether the file of a function's code begins with one of these names.
bool is_of_runtime(const void* function) noexcept;

}  // namespace heapwright::apply
