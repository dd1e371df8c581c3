// SPDX-License-Identifier: MIT
// The code of every hook around the real call: it counts in the thread's table. Takes no lock, and leaves
// nothing behind if the call ends by an exception.
#pragma once

#include <cstddef>
#include <cstdint>

#include "count/real_functions.hpp"
#include "count/turn.hpp"
#include "counters/tally.hpp"
#include "platform/early_pool.hpp"

#define HEAPWRIGHT_HOOK extern "C" __attribute__((visibility("default")))

namespace heapwright::count {

using counters::Function;

using counters::Alone;
using counters::Together;

// Whether a hook counts its failure, or the function it calls next does.
enum class Failure { counted, counted_later };

template <typename Way, Failure failure>
[[gnu::always_inline]] inline void count_made(CallTable& table, Function function, std::size_t size,
                                              void* block) noexcept {
  if (block == nullptr) [[unlikely]] {
    if (failure == Failure::counted) {
      Way::add(table.failed, 1);
    }
    return;
  }
  counters::tally_made<Way>(table, function, size, usable_bytes(block));
}

// Before the block is freed: afterwards its size cannot be determined.
template <typename Way>
[[gnu::always_inline]] inline void count_released(CallTable& table, Function function, void* block) noexcept {
  counters::tally_released<Way>(table, function, usable_bytes(block));
}

// Around a timed call. Only for the thread's own table.
void count_time(CallTable& table, counters::Timings CallTable::*timings, std::uint64_t begin_ns) noexcept;

// Calls `call` as its turn says. counters::Timings CallTable::*: where its time belongs.
template <typename Call>
[[gnu::always_inline]] inline auto make_call(const Turn& turn, counters::Timings CallTable::*timings,
                                             Call call) {
  if (!turn.is_timed) return call();
  const std::uint64_t begin_ns = begin_timing();
  if constexpr (__is_same(decltype(call()), void)) {
    call();
    count_time(*turn.table, timings, begin_ns);
  } else {
    auto result = call();
    count_time(*turn.table, timings, begin_ns);
    return result;
  }
}

template <Function function, Failure failure, typename Call>
[[gnu::cold, gnu::noinline]] void* make_slowly(std::size_t size, Call call) {
  const Turn turn = begin_turn();
  void* block = make_call(turn, &CallTable::making, call);
  if (turn.table == nullptr) return block;
  turn.is_shared ? count_made<Together, failure>(*turn.table, function, size, block)
                 : count_made<Alone, failure>(*turn.table, function, size, block);
  return block;
}

// Of a large block, or one whose call may throw: counted once it is made.
template <Function function, Failure failure, typename Call>
[[gnu::noinline]] void* make_and_count(std::size_t size, Call call) {
  Thread* thread = current_thread;
  if (!counters::may_just_count(thread->until_timed)) [[unlikely]] {
    return make_slowly<function, failure>(size, call);
  }
  CallTable& table = *thread->table;
  void* block = call();
  count_made<Alone, failure>(table, function, size, block);
  return block;
}

template <Function function, Failure failure>
[[gnu::cold, gnu::noinline]] void* count_failure(CallTable& table, std::size_t size) noexcept {
  counters::take_request_back<Alone>(table, function, size);
  if (failure == Failure::counted) Alone::add(table.failed, 1);
  return nullptr;
}

// Apart, so that the block need not be kept in a saved register.
[[gnu::noinline]] inline void* ask_usable(CallTable& table, void* block) noexcept {
  counters::tally_usable<Alone>(table, real.malloc_usable_size(block));
  return block;
}

// A complete allocating hook; `call` makes the real call. A small request is counted before it is served:
// then only the table outlives the call in a saved register. A failure takes it back.
template <Function function, Failure failure = Failure::counted, typename Call>
[[gnu::always_inline]] inline void* make(std::size_t size, Call call) {
  if (!noexcept(call()) || size >= counters::small_sizes) {
    return make_and_count<function, failure>(size, call);
  }
  Thread* thread = current_thread;
  if (!counters::may_just_count(thread->until_timed)) [[unlikely]] {
    return make_slowly<function, failure>(size, call);
  }
  CallTable& table = *thread->table;
  counters::tally_request<Alone>(table, function, size, counters::small_bins.of[size]);
  void* block = call();
  if (block == nullptr) [[unlikely]] {
    return count_failure<function, failure>(table, size);
  }
  if (allocator.has_glibc_headers) [[likely]] {
    const platform::GlibcHeader header(block);
    if (header.tells_usable()) [[likely]] {
      counters::tally_usable<Alone>(table, header.usable_bytes());
      return block;
    }
  }
  return ask_usable(table, block);
}

template <Function function, typename Call>
[[gnu::cold, gnu::noinline]] void release_slowly(void* block, Call call) {
  const Turn turn = begin_turn();
  if (turn.table != nullptr) {
    turn.is_shared ? count_released<Together>(*turn.table, function, block)
                   : count_released<Alone>(*turn.table, function, block);
  }
  make_call(turn, &CallTable::releasing, call);
}

// An event that is not a call of the allocator.
void count_event(std::uint64_t CallTable::*counter) noexcept;

// Where no header tells the block's size, or that it is no early one.
template <Function function, typename Call>
[[gnu::noinline]] void release_and_ask(void* block, Call call) {
  if (platform::is_early(block)) [[unlikely]] {
    return;
  }
  Thread* thread = current_thread;
  if (!counters::may_just_count(thread->until_timed)) [[unlikely]] {
    return release_slowly<function>(block, call);
  }
  counters::tally_released<Alone>(*thread->table, function, usable_bytes(block));
  call();
}

// A complete releasing hook; early blocks are left alone.
template <Function function, typename Call>
[[gnu::always_inline]] inline void release(void* block, Call call) {
  if (block == nullptr) [[unlikely]] {
    return count_event(&CallTable::null_releases);
  }
  if (!allocator.has_glibc_headers) {
    return release_and_ask<function>(block, call);
  }
  const platform::GlibcHeader header(block);
  if (!header.tells_usable()) [[unlikely]] {
    return release_and_ask<function>(block, call);
  }
  Thread* thread = current_thread;
  if (!counters::may_just_count(thread->until_timed)) [[unlikely]] {
    return release_slowly<function>(block, call);
  }
  counters::tally_released<Alone>(*thread->table, function, header.usable_bytes());
  call();
}

}  // namespace heapwright::count
