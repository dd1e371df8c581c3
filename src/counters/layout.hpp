// SPDX-License-Identifier: MIT
// The heap's counters as other processes read them (docs/counters.md). All
// numbers are unsigned 64-bit and only grow, unless they are called a level.
// Fields are appended, never moved; a reader goes by `version` and the sizes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace heapwright::counters {

inline constexpr std::uint64_t page_magic = 0x31726E7463707768;  // "hwpcntr1"
inline constexpr std::uint32_t page_version = 1;

using Counter = std::atomic<std::uint64_t>;

inline void add(Counter& counter, std::uint64_t amount) noexcept {
  counter.fetch_add(amount, std::memory_order_relaxed);
}
// Only one thread writes this counter: no locked instruction.
inline void add_owned(Counter& counter, std::uint64_t amount) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}
inline void raise(Counter& most, std::uint64_t value) noexcept {
  std::uint64_t seen = most.load(std::memory_order_relaxed);
  while (seen < value && !most.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

// Why a call left the straight path.
enum class Reason : std::uint32_t {
  refill_local,     // took blocks that this thread freed
  refill_remote,    // took blocks that other threads freed
  refill_carved,    // made blocks of memory that was not used before
  refill_cold,      // a seldom size, served by a coarser class
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

struct Page {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t page_bytes;       // sizeof(Page)
  std::uint32_t class_count;      // rows of `classes`
  std::uint32_t class_row_bytes;  // sizeof(ClassCounters)
  std::uint32_t classes_offset;   // from the start of the page
  std::uint32_t reasons;          // entries of each of the two arrays at the end
  std::uint64_t process;
  Counter updated_ns;  // CLOCK_MONOTONIC of the last update of sums
  LockCounters page_source_lock;
  LockCounters pool_lock;
  LockCounters heap_lock;      // of heaps of one's own
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
  SystemCallCounters populating;          // of earlier versions, which faulted pages in ahead of use
};

}  // namespace heapwright::counters
