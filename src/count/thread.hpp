// SPDX-License-Identifier: MIT
// Where each thread counts: its table, from its first call to its end.
#pragma once

#include <atomic>
#include <cstdint>

#include "count/contexts.hpp"
#include "counters/calls_section.hpp"
#include "counters/processor_time.hpp"
#include "platform/process_link.hpp"

namespace heapwright::count {

using counters::CallTable;

// One look at until_timed tells a hook whether it may simply count: it is not below 0 either if there is no
// table, and in a fork child, where the kernel has zeroed it.
struct alignas(64) Thread {
  std::int64_t until_timed;
  CallTable* table;
  std::uint64_t random_state;
  counters::Look look;
  ThreadContext context;
};

using platform::Mode;

// vfork children share the parent's page and count in its tables.
struct alignas(4096) WipedOnFork : platform::LinkState {
  Thread threads[counters::max_call_tables];  // by table number
};
[[gnu::visibility("hidden")]] extern constinit WipedOnFork wiped_on_fork;

// Never nullptr.
[[gnu::visibility("hidden")]] extern thread_local constinit Thread* current_thread;

// Valid if the mode is active.
[[gnu::visibility("hidden")]] extern constinit counters::CountedPage* page;

// Discards the parent's threads in a fork child.
void begin_threads(bool is_fork_child) noexcept;

// Gives the calling thread a table, unless it has one. False: it counts in the first table, shared with
// others.
bool has_own_table() noexcept;

// In a process that counts nothing: the thread's calls no longer write where all others do.
void leave_others() noexcept;

// Whether the thread is between step_aside() and step_back().
bool is_aside() noexcept;

// Between these two calls the thread's heap calls are not the program's. step_back() takes the result of
// step_aside().
Thread* step_aside() noexcept;
void step_back(Thread* thread) noexcept;

// Around a timed call of a thread that has a table: its begin, and its duration.
std::uint64_t begin_timing() noexcept;
counters::Took end_timing(std::uint64_t begin_ns) noexcept;

// Nanoseconds of CLOCK_MONOTONIC.
std::uint64_t now_ns() noexcept;

}  // namespace heapwright::count
