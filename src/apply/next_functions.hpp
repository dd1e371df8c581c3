// SPDX-License-Identifier: MIT
// The functions that the program would have called without us: the next ones in its symbol search order.
#pragma once

#include <cstddef>

namespace heapwright::apply {

// FORM(name, its value, parameters, arguments, what the first call does while the loader looks them up)
// All other names are served by these: valloc by memalign, free_sized by free.
#define HEAPWRIGHT_NEXT_FUNCTIONS(FORM)                                                             \
  FORM(malloc, void*, (std::size_t bytes), (bytes), heap::allocate(bytes))                          \
  FORM(calloc, void*, (std::size_t count, std::size_t bytes), (count, bytes), zeroed(count, bytes)) \
  FORM(realloc, void*, (void* block, std::size_t bytes), (block, bytes),                            \
       block == nullptr ? heap::allocate(bytes) : nullptr)                                          \
  FORM(free, void, (void* block), (block), void())                                                  \
  FORM(posix_memalign, int, (void** into, std::size_t alignment, std::size_t bytes),                \
       (into, alignment, bytes), (*into = aligned(alignment, bytes)) == nullptr ? ENOMEM : 0)       \
  FORM(aligned_alloc, void*, (std::size_t alignment, std::size_t bytes), (alignment, bytes),        \
       aligned(alignment, bytes))                                                                   \
  FORM(memalign, void*, (std::size_t alignment, std::size_t bytes), (alignment, bytes),             \
       aligned(alignment, bytes))                                                                   \
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

}  // namespace heapwright::apply
