// SPDX-License-Identifier: MIT
#include "count/hooks.hpp"

namespace heapwright::count {

void count_event(std::uint64_t CallTable::*counter) noexcept {
  const Turn turn = current_thread->table != nullptr ? Turn{.table = current_thread->table} : begin_turn();
  if (turn.table == nullptr) return;
  turn.is_shared ? Together::add(turn.table->*counter, 1) : Alone::add(turn.table->*counter, 1);
}

void count_time(CallTable& table, counters::Timings CallTable::*timings, std::uint64_t begin_ns) noexcept {
  counters::tally_time(table, timings, end_timing(begin_ns), page->calls.section.clock_ns);
}

}  // namespace heapwright::count
