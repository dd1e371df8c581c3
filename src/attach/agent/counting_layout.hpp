// SPDX-License-Identifier: MIT
// The additional layout of the agent that counts.
#pragma once

#include <cstdint>

#include "attach/agent/layout.hpp"
#include "counters/calls_section.hpp"
#include "counters/processor_time.hpp"

namespace heapwright::attach::agent {

struct alignas(64) Thread {
  std::uint64_t key;
  std::int64_t until_timed;  // below 0, unless the slow path must run first
  counters::CallTable* table;
  std::uint64_t random_state;
  std::uint64_t attachment;   // the last one in which it was counted
  std::uint64_t guard_stack;  // stack position of a call inside which calls do not count; 0: none
  counters::Look look;        // last: only timed calls use it
};

// Zeroed by the kernel in a fork child, which then only forwards.
struct alignas(4096) WipedOnFork {
  std::uint64_t is_active;
  Thread threads[max_threads];
};

struct CountingAgent {
  Agent common{};
  Agent second{};  // of the allocator in the executable, beside another
  counters::CallsPage* page{};
  std::uint64_t tables_used{};
  std::uint64_t clock_ns{};
  std::uint64_t is_confined{};  // the kernel may kill the process for reading a clock
  char page_path[64]{};         // only for the system call that opens it
};

}  // namespace heapwright::attach::agent
