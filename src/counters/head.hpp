// SPDX-License-Identifier: MIT
// The head of every page of counters, whatever allocator its process uses: which process it belongs to, the
// time of its values, and where its sections are (docs/counters.md). Fields are appended, never moved.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace heapwright::counters {

inline constexpr std::uint64_t page_magic = 0x32726E7463707768;  // "hwpcntr2"
inline constexpr std::uint32_t head_version = 2;

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

enum class SectionKind : std::uint32_t {
  none = 0,      // an unused entry
  heap = 1,      // heap_section.hpp
  calls = 2,     // calls_section.hpp
  remedies = 3,  // remedies_section.hpp
  contexts = 4,  // contexts_section.hpp
};

struct Section {
  SectionKind kind;
  std::uint32_t version;  // of the section; fields are appended within one
  std::uint32_t offset;   // from the start of the page
  std::uint32_t bytes;
};
inline constexpr std::size_t max_sections = 4;

struct Head {
  std::uint64_t magic;
  std::uint32_t version;  // of the head
  std::uint32_t page_bytes;
  std::uint32_t process;
  std::uint32_t generation;  // forks since the program was executed: 0 in the executed process
  // Field 22 of /proc/PID/stat: distinguishes processes that reuse a PID; 0: unknown.
  std::uint64_t process_start_ticks;
  Counter sequence;    // odd while sums are being written; a reader retries if it changed
  Counter updated_ns;  // CLOCK_MONOTONIC of the last sums
  Section sections[max_sections];
};
static_assert(sizeof(Head) == 112);

// One writer at a time stores consistent values between the two calls.
inline void begin_update(Head& head) noexcept {
  head.sequence.store(head.sequence.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
}
inline void end_update(Head& head, std::uint64_t now_ns) noexcept {
  head.updated_ns.store(now_ns, std::memory_order_relaxed);
  head.sequence.store(head.sequence.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

}  // namespace heapwright::counters
