// SPDX-License-Identifier: MIT
// The process's CPU time and its page faults, as the kernel counts them.
#pragma once

#include <cstdint>

namespace heapwright::analyze {

// Within the recorded spans of the selected time, whichever calls were selected.
struct Processor {
  bool is_known = false;        // otherwise all is 0: an older trace
  std::uint64_t cpu_ns = 0;     // of all threads, including the recorder's work in them
  std::uint64_t system_ns = 0;  // of this, in the kernel
  std::uint64_t minor_faults = 0;
  std::uint64_t major_faults = 0;
  // By the kernel's records of single faults; 0 without them.
  std::uint64_t seen_faults = 0;
  std::uint64_t seen_fault_ns = 0;
  std::uint64_t refaults = 0;  // of these, on pages that had faulted before
  std::uint64_t refault_ns = 0;
  // Of these, on pages that the heap had given back: a block on the page was freed in between.
  std::uint64_t heap_refaults = 0;
  std::uint64_t heap_refault_ns = 0;
};

// What gave the pages of a refault back.
enum class GivenBackBy : std::uint8_t {
  heap = 0,          // the allocator, when or after a block was freed: its heap's end, or a purge
  mapped_block = 1,  // the end of a block that the C library had mapped separately
  program = 2,       // the program's own munmap or madvise
  trim = 3,          // the program's malloc_trim, after the block was freed
};

// Refaults by the call that took the pages again and the one that freed them before.
struct RefaultSite {
  std::uint32_t stack = 0;        // of the block now on the pages, or of the mapping
  std::uint32_t free_stack = 0;   // of the free, munmap, madvise or malloc_trim; 0: not recorded
  std::uint32_t freed_stack = 0;  // of the block that was freed
  std::uint8_t given_back_by = 0;
  std::uint64_t faults = 0;
  std::uint64_t fault_ns = 0;
  std::uint64_t times = 0;  // runs of consecutive pages
};

}  // namespace heapwright::analyze
