// SPDX-License-Identifier: MIT
// The functions that the program would have called without us: the next ones in its symbol search order,
// including those of another preloaded allocator.
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
  std::size_t (*malloc_usable_size)(void*);                     // 0 if the allocator does not report it
};
// Until they are found, these use the early pool; only those that may be absent are ever nullptr.
[[gnu::visibility("hidden")]] extern constinit RealFunctions real;
[[gnu::visibility("hidden")]] extern constinit bool are_real_functions_found;

struct Allocator {
  char file[128];
  const void* object;      // load address of the file
  bool is_own_of_program;  // the program has its own malloc, which serves all callers
  bool knows_usable;
  // Verified with blocks: the word before a block is its chunk's size and three flags.
  bool has_glibc_headers;
};
[[gnu::visibility("hidden")]] extern constinit Allocator allocator;

// glibc's own function also reads the next chunk, which costs a cache miss at each release; the word before
// the block is needed for the release anyway.
[[gnu::always_inline]] inline std::size_t usable_bytes(void* block) noexcept {
  if (allocator.has_glibc_headers) [[likely]] {
    const platform::GlibcHeader header(block);
    if (header.tells_usable()) [[likely]] {
      return header.usable_bytes();
    }
  }
  return real.malloc_usable_size(block);
}

// Looks them all up. Meanwhile the loader may call our entry points; they use the early pool until then.
void find_real_functions() noexcept;

// Drops the error text of a failed lookup: the program must not see our failures.
void forget_failed_lookups() noexcept;

// How an operator new or delete is counted.
enum class OperatorKind : unsigned char {
  unknown,       // not looked up yet: forwarded
  of_runtime,    // the C++ runtime's, which is malloc or free: the hook calls these
  of_allocator,  // the allocator's own
  foreign,       // another one: forwarded; what it calls is counted
};

struct Operator {
  const char* mangled_name;
  void* next = nullptr;
  std::atomic<OperatorKind> kind = OperatorKind::unknown;
};

// Finds the operator after the hook with this name. The runtime may have been loaded late.
void find_operator(Operator& wanted) noexcept;

}  // namespace heapwright::count
