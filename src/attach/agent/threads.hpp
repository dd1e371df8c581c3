// SPDX-License-Identifier: MIT
// The calling thread's entry, found by its thread pointer: the agent has no thread-local storage.
#pragma once

#include "attach/agent/layout.hpp"

namespace heapwright::attach::agent {

// The names that the attaching program looks for.
#define HEAPWRIGHT_AGENT_DATA extern "C" __attribute__((visibility("default")))
HEAPWRIGHT_AGENT_DATA Agent heapwright_agent;
HEAPWRIGHT_AGENT_DATA WipedOnFork heapwright_agent_threads;
// And heapwright_agent_hooks, an address for each Entry.

inline std::uint64_t thread_pointer() noexcept {
  std::uint64_t pointer;
  asm("mov %%fs:0, %0" : "=r"(pointer));
  return pointer;
}

constexpr std::size_t home_of(std::uint64_t key) noexcept {
  return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ULL) >> 52);
}
static_assert(max_threads == 1U << (64 - 52));

// The entry of a key that is not at its home. One without a table: there is none.
Thread& find_elsewhere(std::uint64_t key) noexcept;

[[gnu::always_inline]] inline Thread& this_thread() noexcept {
  const std::uint64_t key = thread_pointer();
  Thread& at_home = heapwright_agent_threads.threads[home_of(key)];
  if (at_home.key == key) [[likely]] {
    return at_home;
  }
  return find_elsewhere(key);
}

// How a call goes on that cannot just count.
struct Turn {
  Thread* thread = nullptr;              // nullptr: has no entry
  counters::CallTable* table = nullptr;  // nullptr: forward without counting
  bool is_shared = false;                // others add to the table meanwhile
  bool is_timed = false;
};
Turn begin_turn(Thread& thread) noexcept;

std::uint64_t now_ns() noexcept;

}  // namespace heapwright::attach::agent
