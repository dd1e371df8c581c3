// SPDX-License-Identifier: MIT
#include "count/turn.hpp"

#include <atomic>

#include "count/page.hpp"
#include "counters/tally.hpp"

namespace heapwright::count {

namespace {

// Not wiped: a fork child has its parent's filter.
constinit std::atomic<bool> may_time{true};

}  // namespace

void stop_timing() noexcept { may_time.store(false, std::memory_order_relaxed); }

Turn begin_turn() noexcept {
  if (wiped_on_fork.mode.load(std::memory_order_acquire) != Mode::active && !link_process()) return {};
  if (is_aside()) return {};
  const bool is_first = current_thread->table == nullptr;
  if (!has_own_table()) return {.table = &page->tables[0], .is_shared = true};
  Thread& thread = *current_thread;
  if (is_first) return {.table = thread.table};
  thread.calls_until_timed = counters::draw_stride(thread.random_state);
  return {.table = thread.table, .is_timed = may_time.load(std::memory_order_relaxed)};
}

}  // namespace heapwright::count
