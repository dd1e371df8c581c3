// SPDX-License-Identifier: MIT
#include "attach/agent/threads.hpp"

#include "counters/tally.hpp"

namespace heapwright::attach::agent {

constinit WipedOnFork heapwright_agent_threads{};

namespace {

constinit Thread nobody{};

// A new table; the shared one if there is none left.
counters::CallTable* take_table() noexcept {
  CountingAgent& agent = heapwright_agent;
  std::uint64_t next = __atomic_load_n(&agent.tables_used, __ATOMIC_RELAXED);
  do {
    if (next >= counters::max_call_tables) return &agent.page->tables[0];
  } while (!__atomic_compare_exchange_n(&agent.tables_used, &next, next + 1, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
  counters::raise(agent.page->section.tables_used, next + 1);
  return &agent.page->tables[next];
}

Thread* claim() noexcept {
  Thread* const thread = take_entry(heapwright_agent_threads.threads, thread_pointer());
  if (thread != nullptr && thread->table == nullptr) thread->table = take_table();
  return thread;
}

// The stack grows down: a guard that is not above us belongs to a call that was left by a jump.
bool is_within_guard(Thread& thread) noexcept {
  if (thread.guard_stack == 0) return false;
  if (reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)) < thread.guard_stack) return true;
  thread.guard_stack = 0;
  return false;
}

bool is_confined() noexcept { return __atomic_load_n(&heapwright_agent.is_confined, __ATOMIC_RELAXED) != 0; }

void announce(Thread& thread, bool is_shared) noexcept {
  thread.attachment = heapwright_agent.common.attachment;
  if (is_shared) {
    counters::Together::add(thread.table->threads_begun, 1);
    return;
  }
  counters::Alone::add(thread.table->threads_begun, 1);
  thread.random_state = (is_confined() ? 0 : now_ns()) ^ (thread.key << 16) ^ 1;
  if (thread.random_state == 0) thread.random_state = 1;
  thread.until_timed = counters::draw_until_timed(thread.random_state);
  thread.look = {};  // perhaps of an earlier thread
}

}  // namespace

Thread& find_elsewhere(std::uint64_t key) noexcept {
  Thread* const found = find_entry(heapwright_agent_threads.threads, key);
  return found != nullptr ? *found : nobody;
}

Turn begin_turn(Thread& found) noexcept {
  if (heapwright_agent_threads.is_active == 0) return {};
  Thread* thread = &found == &nobody ? claim() : &found;
  if (thread == nullptr) return {.table = &heapwright_agent.page->tables[0], .is_shared = true};
  if (is_within_guard(*thread)) return {};
  const bool is_shared = thread->table == &heapwright_agent.page->tables[0];
  if (thread->attachment != heapwright_agent.common.attachment) {
    announce(*thread, is_shared);
    return {.thread = thread, .table = thread->table, .is_shared = is_shared};
  }
  if (is_shared) return {.thread = thread, .table = thread->table, .is_shared = true};
  if (is_confined()) {
    thread->until_timed = INT64_MIN;
    return {.thread = thread, .table = thread->table};
  }
  thread->until_timed = counters::draw_until_timed(thread->random_state);
  return {.thread = thread, .table = thread->table, .is_timed = true};
}

// The next thread with this thread pointer, which glibc soon reuses, is a different one.
void end_thread() noexcept {
  Thread& thread = this_thread();
  if (thread.table == nullptr || thread.guard_stack != 0) return;  // a realloc to size 0 frees, too
  thread.attachment = 0;
  thread.until_timed = 0;
}

std::uint64_t now_ns() noexcept {
  timespec now{};
  read_clock(heapwright_agent.common, CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000ULL + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace heapwright::attach::agent
