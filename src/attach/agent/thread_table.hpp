// SPDX-License-Identifier: MIT
// A table of threads by thread pointer: the agents have no thread-local storage. A Thread has a key, and is
// an entry of a table of max_threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attach/agent/layout.hpp"

namespace heapwright::attach::agent {

constexpr std::size_t home_of(std::uint64_t key) noexcept {
  return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ULL) >> 52);
}
static_assert(max_threads == 1U << (64 - 52));

// Maximum distance of an entry from its home.
inline constexpr std::size_t max_steps = 64;
constexpr std::size_t after(std::size_t at) noexcept { return (at + 1) % max_threads; }

// nullptr: the key has no entry.
template <typename Thread>
Thread* find_entry(Thread* threads, std::uint64_t key) noexcept {
  std::size_t at = home_of(key);
  for (std::size_t step = 0; step < max_steps; ++step, at = after(at)) {
    const std::uint64_t found = __atomic_load_n(&threads[at].key, __ATOMIC_RELAXED);
    if (found == key) return &threads[at];
    if (found == free_key) break;
  }
  return nullptr;
}

// Takes a free entry. Only the thread itself inserts its key, so no other thread can have inserted it
// elsewhere meanwhile. nullptr: there is none.
template <typename Thread>
Thread* take_entry(Thread* threads, std::uint64_t key) noexcept {
  std::size_t at = home_of(key);
  for (std::size_t step = 0; step < max_steps; ++step, at = after(at)) {
    std::uint64_t found = __atomic_load_n(&threads[at].key, __ATOMIC_RELAXED);
    while (found == free_key || found == ended_key) {
      if (__atomic_compare_exchange_n(&threads[at].key, &found, key, false, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
        return &threads[at];
      }
    }
  }
  return nullptr;
}

}  // namespace heapwright::attach::agent
