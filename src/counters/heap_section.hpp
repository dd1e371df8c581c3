// SPDX-License-Identifier: MIT
// What our heap counts about itself, as other processes read it (docs/counters.md). All numbers are unsigned
// 64-bit and only grow, except those marked as a level. Fields are appended, never moved.
#pragma once

#include <cstddef>
#include <cstdint>

#include "counters/head.hpp"

namespace heapwright::counters {

// Why a call left the fast path.
enum class Reason : std::uint32_t {
  refill_local,     // took blocks that this thread had freed
  refill_remote,    // took blocks that other threads had freed
  refill_carved,    // carved blocks from unused memory
  refill_cold,      // a rare size, served by a coarser class
  slab_claimed,     // took over a slab from the pool
  slab_opened,      // a new slab
  slab_emptied,     // the last block of a slab was freed
  slab_pooled,      // gave up a sparse slab
  remote_free,      // freed a block owned by another thread
  remote_notice,    // notified a slab's owner of freed blocks
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
  Counter refills;   // times a thread had to look for more blocks
  Counter taken;     // blocks allocated
  Counter returned;  // blocks freed, as of the last look at their slab
};

// What the heap's memory that may be resident consists of. What is free in a slab has room for its blocks'
// size only.
enum class Held : std::uint32_t {
  live,            // blocks up to 64 KiB that live, as their classes round them
  free_first,      // free, in the slabs that threads allocate from
  free_next,       // free, in those that they will use next
  free_in_full,    // free, in slabs whose owner has not looked since all their blocks were allocated
  free_of_ended,   // free, in slabs of threads that have ended
  free_in_pool,    // free, in sparse slabs that any thread may take
  never_used,      // of slabs in pages that were used before: where they have no blocks yet
  large,           // blocks above 64 KiB that live, in whole pages
  large_ends,      // behind these, up to the end of their last 64 KiB
  runs,            // in no slab or block, waiting to be used or given back
  runs_of_thread,  // the same, kept by a thread for its next block of up to 128 KiB
  records,         // of units and of threads
  count_           // number of parts
};
inline constexpr std::size_t held_count = static_cast<std::size_t>(Held::count_);

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
  SystemCallCounters purging;  // returning pages to the system
  Counter committed_bytes;     // level
  Counter dirty_bytes;         // level: free runs that had been used
  Counter purged_bytes;
  Counter first_touch_pages;              // carved or allocated for the first time: each a page fault
  Counter second_touch_pages;             // the same for pages that had been returned
  Counter max_steps;                      // largest step count of one call (instrumented build)
  Counter threads;                        // level: caches in use
  Counter counted_reasons[reason_count];  // counted immediately
  Counter summed_reasons[reason_count];   // counted per thread, summed up occasionally
  Counter held[held_count];               // levels: bytes of each part
  Counter most_held[held_count];          // the same when their sum was largest
};

}  // namespace heapwright::counters
