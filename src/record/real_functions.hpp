// SPDX-License-Identifier: MIT
// The functions that the program would have called without us: the next ones in its symbol search order,
// including those of another preloaded allocator.
#pragma once

#include <dlfcn.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <new>

#include "platform/early_pool.hpp"

namespace heapwright::record {

// Used until they are known.
using platform::early_allocate;
using platform::early_size;
using platform::is_early;

// The next function with that name in the program's search order; nullptr: there is none.
template <typename Function>
Function* find_next(const char* name) noexcept {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

struct RealFunctions {
  void* (*malloc)(std::size_t);
  void* (*calloc)(std::size_t, std::size_t);
  void* (*realloc)(void*, std::size_t);
  void* (*program_realloc)(void*, std::size_t);  // of an allocator that is linked in; nullptr: there is none
  void (*free)(void*);
  int (*posix_memalign)(void**, std::size_t, std::size_t);
  void* (*aligned_alloc)(std::size_t, std::size_t);
  void* (*memalign)(std::size_t, std::size_t);
  void* (*valloc)(std::size_t);
  void* (*pvalloc)(std::size_t);
  std::size_t (*malloc_usable_size)(void*);
  std::size_t (*usable_bytes)(void*);                           // of a block that a hook returns
  void (*free_sized)(void*, std::size_t);                       // may be absent
  void (*free_aligned_sized)(void*, std::size_t, std::size_t);  // may be absent
  int (*malloc_trim)(std::size_t);                              // may be absent
  int (*mallopt)(int, int);                                     // may be absent
  void* (*mmap)(void*, std::size_t, int, int, int, off_t);
  int (*munmap)(void*, std::size_t);
  void* (*mremap)(void*, std::size_t, std::size_t, int, ...);
  int (*mprotect)(void*, std::size_t, int);
  int (*madvise)(void*, std::size_t, int);
  int (*brk)(void*);
  void* (*sbrk)(std::intptr_t);
  int (*dlclose)(void*);
  int (*prctl)(int, ...);
  long (*syscall)(long, long, long, long, long, long, long);
};

[[gnu::visibility("hidden")]] extern constinit RealFunctions real;

// The malloc of an allocator that is linked into the program and then serves all callers. nullptr: there is
// none, and all callers reach our hook.
void* malloc_of_program() noexcept;

// Looks them all up. Meanwhile the loader may call our entry points; they use the early pool until
// real.malloc is set.
void find_real_functions() noexcept;

// Drops the error text of a failed lookup: the program must not see our failures.
void forget_failed_lookups() noexcept;

// The next definition of a C++ operator, even if libstdc++ was loaded by a later dlopen. nullptr if there is
// none. Looked up at each operator's first call.
void* find_operator(const char* mangled_name) noexcept;

// Whether a call from `return_address`, made while a real function runs, belongs to that function: it comes
// from the object that holds the allocator or the C++ operators. Any other caller is a signal handler. True
// if unknown.
bool is_call_of_allocator(const void* return_address) noexcept;
// The same for the heap only, without the C++ operators.
bool is_call_of_heap(const void* return_address) noexcept;
// Whether a call comes from libc or the loader.
bool is_call_of_libc(const void* return_address) noexcept;

// The same while an operator new runs. It calls the program's new handler and creates an exception: what
// these allocate is the program's.
bool is_call_of_operator(const void* return_address) noexcept;

}  // namespace heapwright::record
