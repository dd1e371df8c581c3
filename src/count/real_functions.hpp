// SPDX-License-Identifier: MIT
// The functions the program would have called without us: the next ones in
// its symbol search order, another preloaded allocator's included.
#pragma once

#include <atomic>
#include <cstddef>

#include "platform/glibc_header.hpp"

namespace heapwright::count {

struct RealFunctions {
  void* (*malloc)(std::size_t);
  void* (*calloc)(std::size_t, std::size_t);
  void* (*realloc)(void*, std::size_t);
  void (*free)(void*);
  int (*posix_memalign)(void**, std::size_t, std::size_t);
  void* (*aligned_alloc)(std::size_t, std::size_t);
  void* (*memalign)(std::size_t, std::size_t);
  void* (*valloc)(std::size_t);
  void* (*pvalloc)(std::size_t);
  void (*free_sized)(void*, std::size_t);                       // may be absent
  void (*free_aligned_sized)(void*, std::size_t, std::size_t);  // may be absent
  std::size_t (*malloc_usable_size)(void*);                     // 0 where the allocator does not tell
};
// Until they are found these serve from the early pool; none is ever nullptr but what may be absent.
[[gnu::visibility("hidden")]] extern constinit RealFunctions real;
[[gnu::visibility("hidden")]] extern constinit bool are_real_functions_found;

struct Allocator {
  char file[128];
  const void* object;      // where the file is loaded
  bool is_own_of_program;  // the program has a malloc, and that is everyone's
  bool knows_usable;
  bool has_glibc_headers;  // tried on blocks: the word before a block is its chunk's size and three flags
};
[[gnu::visibility("hidden")]] extern constinit Allocator allocator;

// glibc's own function looks into the next chunk as well, which costs a cache
// miss at each release; the word before the block is needed for that anyway.
[[gnu::always_inline]] inline std::size_t usable_bytes(void* block) noexcept {
  if (allocator.has_glibc_headers) [[likely]] {
    const std::size_t usable = platform::usable_by_glibc_header(block);
    if (usable != 0) [[likely]] {
      return usable;
    }
  }
  return real.malloc_usable_size(block);
}

// Looks all of them up. The loader may call our entry points meanwhile; they
// use the early pool until then.
void find_real_functions() noexcept;

// Drops the text of a lookup that failed: the program must not find our failures.
void forget_failed_lookups() noexcept;

// How an operator new or delete is counted.
enum class OperatorKind : unsigned char {
  unknown,       // not looked up yet: forwarded
  of_runtime,    // the C++ runtime's, which is malloc or free: the hook calls these
  of_allocator,  // the allocator's own
  foreign,       // somebody's: forwarded; what it calls is counted
};

struct Operator {
  const char* mangled_name;
  void* next = nullptr;
  std::atomic<OperatorKind> kind = OperatorKind::unknown;
};

// Fills in what lies behind the hook of this name. The runtime may have been loaded late.
void find_operator(Operator& wanted) noexcept;

}  // namespace heapwright::count
