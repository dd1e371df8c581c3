// SPDX-License-Identifier: MIT
// How a call is added to a table, however calls are intercepted. Threads: Alone for the calling thread's own
// table, Together anywhere.
#pragma once

#include <cstddef>
#include <cstdint>

#include "counters/calls_section.hpp"
#include "counters/processor_time.hpp"

namespace heapwright::counters {

struct Alone {
  static void add(std::uint64_t& counter, std::uint64_t amount) noexcept { counter += amount; }
};
struct Together {
  static void add(std::uint64_t& counter, std::uint64_t amount) noexcept {
    __atomic_fetch_add(&counter, amount, __ATOMIC_RELAXED);
  }
};

// bin_of() small sizes, which are most: read from a table in half of the instructions.
inline constexpr std::size_t small_sizes = 1024;
struct SmallBins {
  std::uint8_t of[small_sizes];
};
inline constexpr SmallBins small_bins = [] {
  SmallBins bins{};
  for (std::size_t size = 0; size < small_sizes; ++size) {
    bins.of[size] = static_cast<std::uint8_t>(bin_of(size));
  }
  return bins;
}();

// A block is requested, and so far not known to be made.
template <typename Way>
[[gnu::always_inline]] inline void tally_request(CallTable& table, Function function, std::size_t size,
                                                 std::uint32_t bin) noexcept {
  Way::add(table.calls[static_cast<std::size_t>(function)], 1);
  Way::add(table.requested_bytes, size);
  Way::add(table.sizes[bin], 1);
}

// It was not made after all.
template <typename Way>
inline void take_request_back(CallTable& table, Function function, std::size_t size) noexcept {
  Way::add(table.calls[static_cast<std::size_t>(function)], -std::uint64_t{1});
  Way::add(table.requested_bytes, -size);
  Way::add(table.sizes[bin_of(size)], -std::uint64_t{1});
}

// In a register first. Else the compiler may add its parts one by one, and a signal handler that counts
// between the first and the last would be overwritten.
[[gnu::always_inline]] inline std::uint64_t in_register(std::uint64_t amount) noexcept {
  asm("" : "+r"(amount));
  return amount;
}

// What was requested is made, with so many usable bytes.
template <typename Way>
[[gnu::always_inline]] inline void tally_usable(CallTable& table, std::size_t usable) noexcept {
  Way::add(table.usable_bytes, in_register(usable));
}

// A block was allocated: `size` bytes requested, `usable` granted.
template <typename Way>
[[gnu::always_inline]] inline void tally_made(CallTable& table, Function function, std::size_t size,
                                              std::size_t usable) noexcept {
  tally_request<Way>(table, function, size, bin_of(size));
  tally_usable<Way>(table, usable);
}

template <typename Way>
[[gnu::always_inline]] inline void tally_released(CallTable& table, Function function,
                                                  std::size_t usable) noexcept {
  Way::add(table.released_bytes, in_register(usable));
  Way::add(table.calls[static_cast<std::size_t>(function)], 1);
}

// The block before a realloc, and its result.
struct Reallocation {
  bool had_block;
  bool has_block;
  std::size_t size;  // requested
  std::size_t old_usable;
  std::size_t usable;  // if it has a block
};

template <typename Way>
inline void tally_realloc(CallTable& table, const Reallocation& call) noexcept {
  const bool is_release = !call.has_block && call.size == 0 && call.had_block;
  if (!call.has_block && !is_release) {
    Way::add(table.failed, 1);
    return;
  }
  Way::add(table.calls[static_cast<std::size_t>(Function::realloc_)], 1);
  Way::add(table.released_bytes, call.old_usable);
  if (is_release) return Way::add(table.realloc_released, 1);
  Way::add(table.realloc_made, call.had_block ? 0 : 1);
  Way::add(table.requested_bytes, call.size);
  Way::add(table.usable_bytes, call.usable);
  Way::add(table.sizes[bin_of(call.size)], 1);
}

inline void tally_wait(CallTable& table, Waits& waits, Took took) noexcept {
  ++waits.calls;
  waits.ns += took.waited_ns;
  if (took.waited == Waited::lock) {
    ++table.lock_waits.calls;
    table.lock_waits.ns += took.waited_ns;
    ++table.lock_waits.bins[lock_bin_of(took.waited_ns)];
  } else if (took.waited == Waited::preempted) {
    ++table.preempted_waits.calls;
    table.preempted_waits.ns += took.waited_ns;
  }
}

// A call took this long, including `clock_ns` for reading the clock. Only for the thread's own table.
inline void tally_time(CallTable& table, Timings CallTable::*part, Took took,
                       std::uint64_t clock_ns) noexcept {
  if (!took.is_typical) {
    if (took.waited != Waited::lock) return;
    ++table.sought_lock_waits.calls;
    table.sought_lock_waits.ns += took.waited_ns;
    return;
  }
  if (took.waited_ns != 0) {
    tally_wait(table, part == &CallTable::making ? table.making_waits : table.releasing_waits, took);
  }
  const std::uint64_t on_ns = took.ns - took.waited_ns;
  const std::uint64_t ns = on_ns > clock_ns ? on_ns - clock_ns : 0;
  Timings& timings = table.*part;
  ++timings.calls;
  timings.ns += ns;
  ++timings.bins[time_bin_of(ns)];
  if (ns < slow_from_ns) return;
  ++timings.slow_calls;
  timings.slow_ns += ns;
}

// Whether a thread may simply count this call. until_timed: minus the number of calls until the next timed
// one, which counts this one; from 0 on the slow path must run first. One addition to memory, so a signal
// handler sees it before or after; from 0 on it may be wrong, as where threads share it.
[[gnu::always_inline]] inline bool may_just_count(std::int64_t& until_timed) noexcept {
  return ++until_timed < 0;
}

// How many calls pass until the next one is timed, which is the last of them: 1 to 127, negative. state: not
// 0.
inline std::int64_t draw_until_timed(std::uint64_t& state) noexcept {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return -static_cast<std::int64_t>(1 + (state >> 20) % (2 * mean_stride - 1));
}

}  // namespace heapwright::counters
