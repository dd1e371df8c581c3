// SPDX-License-Identifier: MIT
#include "count/turn.hpp"

#include "count/confinement.hpp"
#include "count/page.hpp"
#include "counters/tally.hpp"

namespace heapwright::count {

Turn begin_turn() noexcept {
  if (wiped_on_fork.mode.load(std::memory_order_acquire) != Mode::active && !link_process()) {
    leave_others();
    return {};
  }
  if (is_aside()) return {};
  const bool is_first = current_thread->table == nullptr;
  if (!has_own_table()) return {.table = &page->calls.tables[0], .is_shared = true};
  Thread& thread = *current_thread;
  if (is_first) return {.table = thread.table};
  thread.until_timed = counters::draw_until_timed(thread.random_state);
  add_to_context(thread.context, *thread.table);
  return {.table = thread.table, .is_timed = !is_confined()};
}

}  // namespace heapwright::count
