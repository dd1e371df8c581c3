// SPDX-License-Identifier: MIT
// The interface between an agent, which is mapped into a running process, and the program that maps it. That
// program writes all of it through the process's memory, while every thread of the process is stopped.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heapwright::attach::agent {

// The functions that are patched. If one function has two of these names, the first one counts.
enum class Entry : std::uint32_t {
  malloc_,
  calloc_,
  realloc_,
  free_,
  posix_memalign_,
  aligned_alloc_,
  memalign_,
  valloc_,
  pvalloc_,
  free_sized_,
  free_aligned_sized_,
  new_,
  new_array_,
  new_nothrow_,
  new_array_nothrow_,
  new_aligned_,
  new_array_aligned_,
  new_aligned_nothrow_,
  new_array_aligned_nothrow_,
  delete_,
  delete_array_,
  delete_sized_,
  delete_array_sized_,
  delete_nothrow_,
  delete_array_nothrow_,
  delete_aligned_,
  delete_array_aligned_,
  delete_sized_aligned_,
  delete_array_sized_aligned_,
  delete_aligned_nothrow_,
  delete_array_aligned_nothrow_,
  dlclose_,  // not a heap call: a recording must know which libraries were unloaded. The counting agent has
             // no hook
  // Functions of jemalloc and mimalloc, with their prefix.
  mallocx_,
  rallocx_,
  dallocx_,
  sdallocx_,
  zalloc_,
  malloc_aligned_,
  zalloc_aligned_,
  realloc_aligned_,
  free_size_,
  free_size_aligned_,
  free_aligned_,
  // No heap calls: memory that the program maps itself, and its end. Only the recording agent has hooks, but
  // for prctl and syscall.
  mmap_,
  munmap_,
  mremap_,
  madvise_,
  exit_,
  // Only if children are recorded, too: images that are to replace a process, and system calls that may
  // install a filter.
  execve_,
  prctl_,
  syscall_,
  count_  // number of entries
};
inline constexpr std::size_t entry_count = static_cast<std::size_t>(Entry::count_);
constexpr std::size_t index_of(Entry entry) noexcept { return static_cast<std::size_t>(entry); }

// By Entry.
inline constexpr const char* entry_names[entry_count] = {"malloc",
                                                         "calloc",
                                                         "realloc",
                                                         "free",
                                                         "posix_memalign",
                                                         "aligned_alloc",
                                                         "memalign",
                                                         "valloc",
                                                         "pvalloc",
                                                         "free_sized",
                                                         "free_aligned_sized",
                                                         "_Znwm",
                                                         "_Znam",
                                                         "_ZnwmRKSt9nothrow_t",
                                                         "_ZnamRKSt9nothrow_t",
                                                         "_ZnwmSt11align_val_t",
                                                         "_ZnamSt11align_val_t",
                                                         "_ZnwmSt11align_val_tRKSt9nothrow_t",
                                                         "_ZnamSt11align_val_tRKSt9nothrow_t",
                                                         "_ZdlPv",
                                                         "_ZdaPv",
                                                         "_ZdlPvm",
                                                         "_ZdaPvm",
                                                         "_ZdlPvRKSt9nothrow_t",
                                                         "_ZdaPvRKSt9nothrow_t",
                                                         "_ZdlPvSt11align_val_t",
                                                         "_ZdaPvSt11align_val_t",
                                                         "_ZdlPvmSt11align_val_t",
                                                         "_ZdaPvmSt11align_val_t",
                                                         "_ZdlPvSt11align_val_tRKSt9nothrow_t",
                                                         "_ZdaPvSt11align_val_tRKSt9nothrow_t",
                                                         "dlclose",
                                                         "mallocx",
                                                         "rallocx",
                                                         "dallocx",
                                                         "sdallocx",
                                                         "zalloc",
                                                         "malloc_aligned",
                                                         "zalloc_aligned",
                                                         "realloc_aligned",
                                                         "free_size",
                                                         "free_size_aligned",
                                                         "free_aligned",
                                                         "mmap",
                                                         "munmap",
                                                         "mremap",
                                                         "madvise",
                                                         "_exit",
                                                         "execve",
                                                         "prctl",
                                                         "syscall"};

// A process may have two allocators: its libraries', and one in the executable.
enum class Heap : std::uint8_t { first, second };
inline constexpr std::size_t heap_count = 2;

// Of the system, not of an allocator.
constexpr bool is_of_system(Entry entry) noexcept { return entry >= Entry::mmap_ && entry < Entry::count_; }

// A program may confine itself by them.
constexpr bool is_confining(Entry entry) noexcept {
  return entry == Entry::prctl_ || entry == Entry::syscall_;
}

// Keys of entries without a thread; other keys are thread pointers, which a later thread may reuse.
inline constexpr std::uint64_t free_key = 0;
inline constexpr std::uint64_t ended_key = 1;  // the entry may be reused

inline constexpr std::size_t max_threads = 4096;  // a power of 2

using Function = void (*)();

// The data of every agent; each agent appends its own.
struct Agent {
  std::uint64_t attachment{};           // counts them
  Function real[entry_count]{};         // what a hook calls; if patched, its moved first instructions
  Function otherwise[entry_count]{};    // where a throwing operator new continues when `real` failed
  std::size_t (*usable_size)(void*){};  // nullptr: the allocator has no such function
  int (*clock_gettime)(int, void*){};   // nullptr: by a system call
  std::uint64_t has_glibc_headers{};
  // glibc's free() is also called by glibc itself, for blocks that the program has already released: by
  // direct calls, while all other calls in that library go through its linkage table. 0 bytes: another
  // allocator.
  std::uint64_t own_code{};
  std::uint64_t own_code_bytes{};
  std::uint64_t free_entry{};
};

}  // namespace heapwright::attach::agent
