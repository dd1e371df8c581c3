// SPDX-License-Identifier: MIT
// The functions that the program would have called without us: the next ones in its symbol search order.
#pragma once

#include <cstddef>

namespace heapwright::apply {

struct NextFunctions {
  void* (*malloc)(std::size_t);
  void* (*calloc)(std::size_t, std::size_t);
  void* (*realloc)(void*, std::size_t);
  void* (*reallocarray)(void*, std::size_t, std::size_t);
  void (*free)(void*);
  int (*posix_memalign)(void**, std::size_t, std::size_t);
  void* (*aligned_alloc)(std::size_t, std::size_t);
  void* (*memalign)(std::size_t, std::size_t);
  void* (*valloc)(std::size_t);
  void* (*pvalloc)(std::size_t);
  void (*free_sized)(void*, std::size_t);
  void (*free_aligned_sized)(void*, std::size_t, std::size_t);
  std::size_t (*malloc_usable_size)(void*);  // nullptr: the allocator has none
};
// The first call of each looks all of them up; what the loader allocates meanwhile is in our heap.
[[gnu::visibility("hidden")]] extern constinit NextFunctions next;

void find_next_functions() noexcept;

// Whether all callers' functions with this name are ours: the program may have its own, and another preloaded
// allocator may stand before us.
bool is_first(const char* name) noexcept;

// Whether the file of a function's code begins with one of these names.
bool is_of_runtime(const void* function) noexcept;

}  // namespace heapwright::apply
