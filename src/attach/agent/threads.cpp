// SPDX-License-Identifier: MIT
#include "attach/agent/threads.hpp"

#include <time.h>

#include "counters/tally.hpp"
#include "platform/raw_syscall.hpp"

namespace heapwright::attach::agent {

using platform::raw_argument;
using platform::raw_syscall;

constinit WipedOnFork heapwright_agent_threads{};

namespace {

// How far from its home an entry may be.
constexpr std::size_t max_steps = 64;

constinit Thread nobody{};

std::size_t after(std::size_t at) noexcept { return (at + 1) % max_threads; }

// A table that nobody had; the common one when there is none left.
counters::CallTable* take_table() noexcept {
  Agent& agent = heapwright_agent;
  std::uint64_t next = __atomic_load_n(&agent.tables_used, __ATOMIC_RELAXED);
  do {
    if (next >= counters::max_call_tables) return &agent.page->tables[0];
  } while (!__atomic_compare_exchange_n(&agent.tables_used, &next, next + 1, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
  counters::raise(agent.page->section.tables_used, next + 1);
  return &agent.page->tables[next];
}

bool take(Thread& thread, std::uint64_t key) noexcept {
  std::uint64_t found = __atomic_load_n(&thread.key, __ATOMIC_RELAXED);
  while (found == Thread::free_key || found == Thread::ended_key) {
    if (__atomic_compare_exchange_n(&thread.key, &found, key, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      return true;
    }
  }
  return false;
}

// Only the thread itself takes its key: nobody else can have put it elsewhere meanwhile.
Thread* claim() noexcept {
  const std::uint64_t key = thread_pointer();
  std::size_t at = home_of(key);
  for (std::size_t step = 0; step < max_steps; ++step, at = after(at)) {
    Thread& thread = heapwright_agent_threads.threads[at];
    if (!take(thread, key)) continue;
    if (thread.table == nullptr) thread.table = take_table();
    return &thread;
  }
  return nullptr;
}

// The stack grows down: a guard that is not above us is of a call that was left by a jump.
bool is_within_guard(Thread& thread) noexcept {
  if (thread.guard_stack == 0) return false;
  if (reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)) < thread.guard_stack) return true;
  thread.guard_stack = 0;
  return false;
}

void announce(Thread& thread, bool is_shared) noexcept {
  thread.attachment = heapwright_agent.attachment;
  if (is_shared) {
    counters::Together::add(thread.table->threads_begun, 1);
    return;
  }
  counters::Alone::add(thread.table->threads_begun, 1);
  thread.random_state = now_ns() ^ (thread.key << 16) ^ 1;
  if (thread.random_state == 0) thread.random_state = 1;
  thread.calls_until_timed = counters::draw_stride(thread.random_state);
}

}  // namespace

Thread& find_elsewhere(std::uint64_t key) noexcept {
  std::size_t at = home_of(key);
  for (std::size_t step = 0; step < max_steps; ++step, at = after(at)) {
    Thread& thread = heapwright_agent_threads.threads[at];
    const std::uint64_t found = __atomic_load_n(&thread.key, __ATOMIC_RELAXED);
    if (found == key) return thread;
    if (found == Thread::free_key) break;
  }
  return nobody;
}

Turn begin_turn(Thread& found) noexcept {
  if (heapwright_agent_threads.is_counting == 0) return {};
  Thread* thread = &found == &nobody ? claim() : &found;
  if (thread == nullptr) return {.table = &heapwright_agent.page->tables[0], .is_shared = true};
  if (is_within_guard(*thread)) return {};
  const bool is_shared = thread->table == &heapwright_agent.page->tables[0];
  if (thread->attachment != heapwright_agent.attachment) {
    announce(*thread, is_shared);
    return {.thread = thread, .table = thread->table, .is_shared = is_shared};
  }
  if (is_shared) return {.thread = thread, .table = thread->table, .is_shared = true};
  thread->calls_until_timed = counters::draw_stride(thread->random_state);
  return {.thread = thread, .table = thread->table, .is_timed = true};
}

std::uint64_t now_ns() noexcept {
  timespec now{};
  if (heapwright_agent.clock_gettime != nullptr) {
    heapwright_agent.clock_gettime(CLOCK_MONOTONIC, &now);
  } else {
    raw_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, raw_argument(&now));
  }
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000ULL + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace heapwright::attach::agent
