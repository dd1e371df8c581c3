// SPDX-License-Identifier: MIT
// Why calls were slow.
#pragma once

#include <cstdint>

#include "trace/event.hpp"

namespace heapwright::analyze {

// What took the largest part of a call. Causes up to mapping are seen in the kernel's records; the others are
// inferred from the call and its predecessors.
enum class SlowCause : std::uint8_t {
  unknown = 0,        // the kernel's records are missing or incomplete
  page_faults = 1,    // first use of pages
  preempted = 2,      // off the processor although runnable, and no work that would be told without that
  waited = 3,         // off the processor: a lock, a page's content
  mapping = 4,        // system calls that made memory accessible: mmap, growth by brk or mprotect
  consolidation = 5,  // glibc merged the small blocks that were freed before
  own_mapping = 6,    // munmap or mremap of a block with its own mapping, or of the program's own mappings
  trimming = 7,       // malloc_trim
  own_work = 8,       // no other cause is seen, and the call is too long for an interrupt
  unexplained = 9,
};

// Slow calls of one entry point, site and size class with one cause. Each slow call is in exactly one row.
struct SlowCalls {
  trace::EventKind kind = trace::EventKind::none;
  std::uint8_t cause = 0;       // SlowCause
  std::uint8_t work = 0;        // the main part of its time on a processor; SlowCause
  std::uint8_t size_class = 0;  // of the block, k: [2^(k-1), 2^k) bytes; or no_size_class: unknown
  std::uint32_t site = 0;       // of the allocation; of a release: the block's
  std::uint64_t calls = 0;
  std::uint64_t duration_ns = 0;
  std::uint64_t descheduled_ns = 0;  // of this, off the processor
  std::uint64_t longest_ns = 0;      // of one call, on a processor

  static constexpr std::uint8_t no_size_class = 65;
};

// Calls of one site that extended a heap of the C library, by brk or mprotect; does not include blocks with
// their own mapping.
struct HeapGrowth {
  std::uint32_t site = 0;
  std::uint64_t calls = 0;
  std::uint64_t duration_ns = 0;  // on a processor
  std::uint64_t arena_calls = 0;  // of these, in arenas
};

// The kernel's work within all calls, slow or not.
struct KernelSums {
  std::uint64_t faults = 0;
  std::uint64_t fault_ns = 0;
  std::uint64_t waits = 0;
  std::uint64_t waited_ns = 0;
  std::uint64_t waited_in_scans_ns = 0;  // of these, in calls while the recorder scanned pages
  std::uint64_t preemptions = 0;
  std::uint64_t preempted_ns = 0;
  std::uint64_t mapping_calls = 0;     // heap calls that mapped memory or grew the heap
  std::uint64_t mapping_ns = 0;        // their duration, excluding time off the processor
  std::uint64_t arena_growths = 0;     // of these, growth of glibc's arenas of 64 MiB by mprotect
  std::uint64_t incomplete_calls = 0;  // calls with lost kernel records
  std::uint64_t doubtful_ns = 0;       // of these, time neither seen off the processor nor in page faults
};

// Blocks that had their own mapping at first, but no longer since the threshold rose.
struct LargeHeapBlocks {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
};

}  // namespace heapwright::analyze
