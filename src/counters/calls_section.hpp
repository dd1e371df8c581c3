// SPDX-License-Identifier: MIT
// A process's calls to its allocator, as other processes read them (docs/counters.md). Every thread counts in
// its own table, which a later thread continues: each value only grows, and so does its sum over the tables.
// Fields are appended, never moved.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "counters/head.hpp"

namespace heapwright::counters {

// The called function. A call counts once, where the program made it.
enum class Function : std::uint32_t {
  malloc_,
  calloc_,
  realloc_,
  aligned_,  // posix_memalign, aligned_alloc, memalign, valloc, pvalloc, aligned operator new
  new_,
  free_,
  delete_,
  count_  // number of functions
};
inline constexpr std::size_t function_count = static_cast<std::size_t>(Function::count_);

// Values below 4 have one bin each; above, each octave has four. The last bin also holds everything larger.
inline constexpr std::size_t bin_count = 160;
constexpr std::uint32_t bin_of(std::uint64_t value) noexcept {
  if (value < 4) return static_cast<std::uint32_t>(value);
  const int highest_bit = 63 ^ std::countl_zero(value);  // a subtraction would not be folded away
  const auto bin = static_cast<std::uint32_t>(highest_bit - 1) * 4 +
                   static_cast<std::uint32_t>((value >> (highest_bit - 2)) & 3);
  return std::min(bin, std::uint32_t{bin_count - 1});
}

// Times need fewer: the last is for 30 s of CPU time and more.
inline constexpr std::size_t time_bin_count = 136;
constexpr std::uint32_t time_bin_of(std::uint64_t ns) noexcept {
  return std::min(bin_of(ns), std::uint32_t{time_bin_count - 1});
}

// Waits for locks are rare: a bin per power of two. The last is for 9 minutes and more.
inline constexpr std::size_t lock_bin_count = 40;
constexpr std::uint32_t lock_bin_of(std::uint64_t ns) noexcept {
  const auto highest_bit = static_cast<std::uint32_t>(std::bit_width(ns | 1)) - 1;
  return std::min(highest_bit, std::uint32_t{lock_bin_count - 1});
}

// One in mean_stride calls is timed, at random: CPU time of those calls.
inline constexpr std::uint64_t mean_stride = 64;
inline constexpr std::uint64_t slow_from_ns = 20'000;

struct Timings {
  std::uint64_t calls;
  std::uint64_t ns;
  std::uint64_t slow_calls;  // of slow_from_ns or longer
  std::uint64_t slow_ns;
  std::uint64_t bins[time_bin_count];  // of ns
};

// For the same calls: how many left the processor, and for how long.
struct Waits {
  std::uint64_t calls;
  std::uint64_t ns;
};

// Of these, the calls that gave up the processor by themselves: they waited for a lock.
struct LockWaits {
  std::uint64_t calls;
  std::uint64_t ns;
  std::uint64_t bins[lock_bin_count];  // of ns
};

// Plain words: only their own thread writes them, and an addition to memory is one instruction. Readers are
// other processes.
struct alignas(4096) CallTable {
  std::uint64_t last_begun[2];  // when the last thread began to use it: seconds, ns of CLOCK_MONOTONIC
  std::uint64_t calls[function_count];  // successful ones
  std::uint64_t requested_bytes;
  std::uint64_t usable_bytes;    // of allocated blocks
  std::uint64_t released_bytes;  // usable, of released blocks
  std::uint64_t realloc_made;    // realloc calls that allocated: no block before, one after
  std::uint64_t realloc_released;
  std::uint64_t failed;
  std::uint64_t null_releases;  // free(nullptr); not included in calls
  std::uint64_t threads_begun;
  std::uint64_t threads_ended;
  Timings making;
  Timings releasing;
  std::uint64_t sizes[bin_count];  // of successful requests
  Waits making_waits;
  Waits releasing_waits;
  LockWaits lock_waits;   // of both
  Waits preempted_waits;  // of both: the kernel took the processor away
  // Waits for locks in calls just after a preemption, where they are likely. Not among the timed calls.
  Waits sought_lock_waits;
};
static_assert(sizeof(CallTable) == 4096);

inline constexpr std::uint32_t calls_section_version = 3;  // 2: lock waits were not told apart
inline constexpr std::size_t max_call_tables = 1 + 1024;

enum CallsFlag : std::uint32_t {
  has_own_malloc = 1,      // the program's own malloc comes first: its calls are not seen
  has_unknown_usable = 2,  // the allocator does not report usable sizes: these bytes stay 0
  is_attached = 4,         // counting began in a running process: earlier allocations are not included
  is_patched = 8,          // by changed code: the ends of threads are not seen, so neither are all begins
};

struct CallsSection {
  std::uint32_t flags;
  std::uint32_t functions;      // entries of a table's calls
  std::uint32_t bins;           // entries of the histogram of sizes
  std::uint32_t table_bytes;    // bytes of a table
  std::uint32_t tables_offset;  // where the first begins, from the page's start
  std::uint32_t keeper;         // the process that will read the page after this one has ended; 0: none
  std::uint64_t keeper_start_ticks;
  std::uint64_t mean_stride;
  std::uint64_t slow_from_ns;
  std::uint64_t clock_ns;    // cost of reading the clock; subtracted from each time
  std::uint64_t started_ns;  // CLOCK_MONOTONIC
  Counter ended_ns;          // 0: has not ended, or not by exit
  Counter tables_used;       // number of used tables; all later ones are all 0
  char program[64];          // its name, as it was executed
  char allocator[128];       // the file that provides malloc
  std::uint32_t time_bins;   // entries of each histogram of times
  std::uint32_t lock_bins;   // of that of waits for locks
};

// The first table is for calls without their own table: of exiting threads, or of threads that came when all
// others were taken. Any thread adds to it, by locked instructions.
struct CallsPage {
  Head head;
  CallsSection section;
  CallTable tables[max_call_tables];
};
static_assert(offsetof(CallsPage, tables) == 4096);

}  // namespace heapwright::counters
