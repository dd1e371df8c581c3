// SPDX-License-Identifier: MIT
// What every hook does around the real call: it counts in the thread's table.
// Nothing is locked, and nothing is left over when the call ends by an exception.
#pragma once

#include <cstddef>
#include <cstdint>

#include "count/real_functions.hpp"
#include "count/turn.hpp"

#define HEAPWRIGHT_HOOK extern "C" __attribute__((visibility("default")))

namespace heapwright::count {

using counters::Function;

struct Alone {
  static void add(std::uint64_t& counter, std::uint64_t amount) noexcept { counter += amount; }
};
struct Together {
  static void add(std::uint64_t& counter, std::uint64_t amount) noexcept {
    __atomic_fetch_add(&counter, amount, __ATOMIC_RELAXED);
  }
};

// Whether a hook counts its failure, or what it calls next does.
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
  const std::size_t usable = usable_bytes(block);
  Way::add(table.calls[static_cast<std::size_t>(function)], 1);
  Way::add(table.requested_bytes, size);
  Way::add(table.usable_bytes, usable);
  Way::add(table.sizes[counters::bin_of(size)], 1);
}

// Before the block goes: afterwards nobody can tell its size.
template <typename Way>
[[gnu::always_inline]] inline void count_released(CallTable& table, Function function, void* block) noexcept {
  Way::add(table.released_bytes, usable_bytes(block));
  Way::add(table.calls[static_cast<std::size_t>(function)], 1);
}

template <typename Way>
inline void count_realloc(CallTable& table, std::size_t old_usable, bool had_block, std::size_t size,
                          void* block) noexcept {
  const bool is_release = block == nullptr && size == 0 && had_block;
  if (block == nullptr && !is_release) {
    Way::add(table.failed, 1);
    return;
  }
  Way::add(table.calls[static_cast<std::size_t>(Function::realloc_)], 1);
  Way::add(table.released_bytes, old_usable);
  if (is_release) return Way::add(table.realloc_released, 1);
  Way::add(table.realloc_made, had_block ? 0 : 1);
  Way::add(table.requested_bytes, size);
  Way::add(table.usable_bytes, usable_bytes(block));
  Way::add(table.sizes[counters::bin_of(size)], 1);
}

// Only of a table of the thread's own.
void count_time(counters::Timings& timings, std::uint64_t begin_ns) noexcept;

// Calls `call` as its turn says. counters::Timings CallTable::*: what it belongs to.
template <typename Call>
[[gnu::always_inline]] inline auto make_call(const Turn& turn, counters::Timings CallTable::*timings,
                                             Call call) {
  if (!turn.is_timed) return call();
  const std::uint64_t begin_ns = now_ns();
  if constexpr (__is_same(decltype(call()), void)) {
    call();
    count_time(turn.table->*timings, begin_ns);
  } else {
    auto result = call();
    count_time(turn.table->*timings, begin_ns);
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

// Whether the thread may just count this call. One load and one store: a signal
// handler that counts between them is overwritten. Decremented in memory, a 0 it left would wrap.
[[gnu::always_inline]] inline bool may_just_count(Thread& thread) noexcept {
  const std::uint64_t calls = __atomic_load_n(&thread.calls_until_timed, __ATOMIC_RELAXED);
  if (calls == 0) [[unlikely]] {
    return false;
  }
  __atomic_store_n(&thread.calls_until_timed, calls - 1, __ATOMIC_RELAXED);
  return true;
}

// The whole of an allocating hook; `call` makes the real call.
template <Function function, Failure failure = Failure::counted, typename Call>
[[gnu::always_inline]] inline void* make(std::size_t size, Call call) {
  Thread* thread = current_thread;
  if (!may_just_count(*thread)) [[unlikely]] {
    return make_slowly<function, failure>(size, call);
  }
  CallTable& table = *thread->table;
  void* block = call();
  count_made<Alone, failure>(table, function, size, block);
  return block;
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

// What is no call of the allocator.
void count_event(std::uint64_t CallTable::*counter) noexcept;

// The whole of a releasing hook.
template <Function function, typename Call>
[[gnu::always_inline]] inline void release(void* block, Call call) {
  if (block == nullptr) [[unlikely]] {
    return count_event(&CallTable::null_releases);
  }
  Thread* thread = current_thread;
  if (!may_just_count(*thread)) [[unlikely]] {
    return release_slowly<function>(block, call);
  }
  count_released<Alone>(*thread->table, function, block);
  call();
}

}  // namespace heapwright::count
