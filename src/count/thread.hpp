// SPDX-License-Identifier: MIT
// Where each thread counts: its table, from its first call to its end.
#pragma once

#include <atomic>
#include <cstdint>

#include "counters/calls_section.hpp"
#include "counters/processor_time.hpp"
#include "platform/process_link.hpp"

namespace heapwright::count {

using counters::CallTable;

// One look at calls_until_timed tells a hook whether it may just count: it is
// 0 as well where there is no table, and in a fork child, where the kernel has
// zeroed it.
struct alignas(64) Thread {
  std::uint64_t calls_until_timed;
  CallTable* table;
  std::uint64_t random_state;
  counters::Look look;
};

using platform::Mode;

// vfork children share the parent's and count in its tables.
struct alignas(4096) WipedOnFork : platform::LinkState {
  Thread threads[counters::max_call_tables];  // by the number of their table
};
[[gnu::visibility("hidden")]] extern constinit WipedOnFork wiped_on_fork;

// Never nullptr.
[[gnu::visibility("hidden")]] extern thread_local constinit Thread* current_thread;

// Where the mode is active.
[[gnu::visibility("hidden")]] extern constinit counters::CallsPage* page;

// Forgets the parent's threads in a fork child.
void begin_threads(bool is_fork_child) noexcept;

// Gives the calling thread a table, unless it has one. False: it counts in the
// first table, with others.
bool has_own_table() noexcept;

// Whether the thread is between the two below.
bool is_aside() noexcept;

// Between the two the thread's heap calls are not the program's. step_aside()
// gives what step_back() takes.
Thread* step_aside() noexcept;
void step_back(Thread* thread) noexcept;

// Around a call that is timed, of a thread that has a table: when it begins, and what it took.
std::uint64_t begin_timing() noexcept;
counters::Took end_timing(std::uint64_t begin_ns) noexcept;

// Nanoseconds of CLOCK_MONOTONIC.
std::uint64_t now_ns() noexcept;

// What two looks at the clock are apart at least.
std::uint64_t clock_cost_ns() noexcept;

}  // namespace heapwright::count
