// SPDX-License-Identifier: MIT
// What our heap counts of itself, as other processes read it
// (docs/counters.md). All numbers are unsigned 64-bit and only grow, unless
// they are called a level. Fields are appended, never moved.
#pragma once

#include <cstddef>
#include <cstdint>

#include "counters/head.hpp"

namespace heapwright::counters {

// Why a call left the fast path.
enum class Reason : std::uint32_t {
  refill_local,     // took blocks that this thread freed
  refill_remote,    // took blocks that other threads freed
  refill_carved,    // made blocks of memory that was not used before
  refill_cold,      // a rare size, served by a coarser class
  slab_claimed,     // took over a slab from the pool
  slab_opened,      // a new slab
  slab_emptied,     // the last block of a slab came back
  slab_pooled,      // gave up a sparse slab
  remote_free,      // freed a block of another thread
  remote_notice,    // told a slab's owner that blocks came back
  large_allocate,   //
  large_free,       //
  region_grown,     // made more address space writable
  thread_attached,  // first call of a thread
  foreign_free,     // not this heap's block
  count_            // number of reasons
};
inline constexpr std::size_t reason_count = static_cast<std::size_t>(Reason::count_);

struct LockCounters {
  Counter contended;  // acquisitions that had to wait; an uncontended one is not counted
  Counter wait_ns;
  Counter max_wait_ns;
};

struct SystemCallCounters {
  Counter calls;
  Counter ns;
};

struct ClassCounters {
  Counter refills;   // times a thread had to look for blocks
  Counter taken;     // blocks handed out
  Counter returned;  // blocks that came back, as of when their slab was last looked at
};

inline constexpr std::uint32_t heap_section_version = 2;

struct HeapSection {
  std::uint32_t class_count;      // rows of the class table
  std::uint32_t class_row_bytes;  // sizeof(ClassCounters)
  std::uint32_t classes_offset;   // from the start of the page
  std::uint32_t reasons;          // entries of each of the two arrays at the end
  LockCounters page_source_lock;
  LockCounters pool_lock;
  LockCounters heap_lock;      // of private heaps
  SystemCallCounters mapping;  // making memory writable, mremap
  SystemCallCounters purging;  // giving pages back
  Counter committed_bytes;     // level
  Counter dirty_bytes;         // level: free runs that were used
  Counter purged_bytes;
  Counter first_touch_pages;              // carved or handed out for the first time: each a page fault
  Counter second_touch_pages;             // the same of pages that had been given back
  Counter max_steps;                      // largest step count of one call (instrumented build)
  Counter threads;                        // level: caches in use
  Counter counted_reasons[reason_count];  // counted at once
  Counter summed_reasons[reason_count];   // counted by threads for themselves, summed up now and then
};

}  // namespace heapwright::counters
