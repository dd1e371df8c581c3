// SPDX-License-Identifier: MIT
// The calling thread's entry, found by its thread pointer: the agent has no thread-local storage.
#pragma once

#include "attach/agent/counting_layout.hpp"
#include "attach/agent/program.hpp"
#include "attach/agent/thread_table.hpp"

namespace heapwright::attach::agent {

HEAPWRIGHT_AGENT_DATA CountingAgent heapwright_agent;
HEAPWRIGHT_AGENT_DATA WipedOnFork heapwright_agent_threads;

template <Heap heap>
const Agent& agent_of() noexcept {
  return heap == Heap::first ? heapwright_agent.common : heapwright_agent.second;
}

// The entry of a key that is not at its home. An entry without a table: there is none.
Thread& find_elsewhere(std::uint64_t key) noexcept;

[[gnu::always_inline]] inline Thread& this_thread() noexcept {
  const std::uint64_t key = thread_pointer();
  Thread& at_home = heapwright_agent_threads.threads[home_of(key)];
  if (at_home.key == key) [[likely]] {
    return at_home;
  }
  return find_elsewhere(key);
}

// How a call continues if it cannot simply be counted.
struct Turn {
  Thread* thread = nullptr;              // nullptr: it has no entry
  counters::CallTable* table = nullptr;  // nullptr: forward without counting
  bool is_shared = false;                // other threads also add to the table
  bool is_timed = false;
};
Turn begin_turn(Thread& thread) noexcept;

// Called when glibc empties the calling thread's cache, which it does when the thread ends.
void end_thread() noexcept;

std::uint64_t now_ns() noexcept;

}  // namespace heapwright::attach::agent
