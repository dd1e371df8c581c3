// SPDX-License-Identifier: MIT
// The code of a hook around the real call: it counts in the thread's table.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attach/agent/threads.hpp"
#include "counters/tally.hpp"

namespace heapwright::attach::agent {

using counters::Alone;
using counters::CallTable;
using counters::Together;
using Counted = counters::Function;

template <Heap heap>
std::size_t usable_bytes(void* block) noexcept {
  return usable_bytes(agent_of<heap>(), block);
}

// While this exists, calls by this thread belong to the allocator.
class Guard {
 public:
  explicit Guard(Thread* thread) noexcept : thread_(thread) {
    if (thread_ == nullptr) return;
    until_timed_ = thread_->until_timed;
    thread_->until_timed = 0;
    thread_->guard_stack = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
    asm volatile("" ::: "memory");
  }
  ~Guard() {
    asm volatile("" ::: "memory");
    if (thread_ == nullptr) return;
    thread_->guard_stack = 0;
    thread_->until_timed = until_timed_;
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  Thread* thread_;
  std::int64_t until_timed_ = 0;
};

[[gnu::always_inline]] inline Turn take_turn() noexcept {
  Thread& thread = this_thread();
  if (counters::may_just_count(thread.until_timed)) [[likely]] {
    return {.thread = &thread, .table = thread.table};
  }
  return begin_turn(thread);
}

template <typename Call>
[[gnu::always_inline]] inline auto make_call(const Turn& turn, counters::Timings CallTable::*timings,
                                             Call call) noexcept {
  if (!turn.is_timed) [[likely]] {
    return call();
  }
  const std::uint64_t begin_ns = counters::begin_timing(turn.thread->look, now_ns);
  const auto result = call();
  const counters::Took took = counters::end_timing(turn.thread->look, begin_ns, now_ns());
  counters::tally_time(*turn.table, timings, took, heapwright_agent.clock_ns);
  return result;
}

enum class Failure { counted, counted_later };

template <Heap heap, Failure failure>
void count_made(const Turn& turn, Counted function, std::size_t size, void* block) noexcept {
  if (turn.table == nullptr) return;
  CallTable& table = *turn.table;
  if (block == nullptr) [[unlikely]] {
    if (failure == Failure::counted) {
      turn.is_shared ? Together::add(table.failed, 1) : Alone::add(table.failed, 1);
    }
    return;
  }
  const std::size_t usable = usable_bytes<heap>(block);
  if (turn.is_shared) [[unlikely]] {
    return counters::tally_made<Together>(table, function, size, usable);
  }
  counters::tally_made<Alone>(table, function, size, usable);
}

// Before the block is freed: afterwards its size cannot be determined.
template <Heap heap>
void count_released(const Turn& turn, Counted function, void* block) noexcept {
  if (turn.table == nullptr) return;
  const std::size_t usable = usable_bytes<heap>(block);
  if (turn.is_shared) [[unlikely]] {
    return counters::tally_released<Together>(*turn.table, function, usable);
  }
  counters::tally_released<Alone>(*turn.table, function, usable);
}

inline void count_null_release() noexcept {
  const Turn turn = take_turn();
  if (turn.table == nullptr) return;
  turn.is_shared ? Together::add(turn.table->null_releases, 1) : Alone::add(turn.table->null_releases, 1);
}

// A complete allocating hook whose function may call other entries.
template <Heap heap, Counted function, Failure failure = Failure::counted, typename Call>
[[gnu::always_inline]] inline void* make_guarded(std::size_t size, Call call) noexcept {
  const Turn turn = take_turn();
  void* block;
  {
    const Guard guard(turn.table != nullptr ? turn.thread : nullptr);
    block = make_call(turn, &CallTable::making, call);
  }
  count_made<heap, failure>(turn, function, size, block);
  return block;
}

template <Heap heap, Counted function, typename Call>
[[gnu::always_inline]] inline void release_guarded(void* block, Call call) noexcept {
  if (block == nullptr) [[unlikely]] {
    return count_null_release();
  }
  const Turn turn = take_turn();
  count_released<heap>(turn, function, block);
  const Guard guard(turn.table != nullptr ? turn.thread : nullptr);
  make_call(turn, &CallTable::releasing, [&]() noexcept {
    call();
    return 0;
  });
}

}  // namespace heapwright::attach::agent
